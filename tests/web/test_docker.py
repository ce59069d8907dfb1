"""The Dockerfile: what it copies exists, and the server runs as an ordinary user."""

import json
import re
from pathlib import Path

import pytest
from typer.main import get_command

from crbm.cli import app

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def stages():
    """The instructions of each stage, as pairs of a word and its arguments."""
    text = (ROOT / "Dockerfile").read_text().replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    pairs = [(word, " ".join(rest.split())) for word, _, rest in map(split, lines)]
    starts = [place for place, (word, _) in enumerate(pairs) if word == "FROM"]
    return [
        pairs[start:end] for start, end in zip(starts, [*starts[1:], None], strict=True)
    ]


def split(line):
    return line.partition(" ")


def arguments(stage, wanted):
    return [rest for word, rest in stage if word == wanted]


def test_the_server_is_not_root(stages):
    words = [word for word, _ in stages[-1]]
    (user,) = arguments(stages[-1], "USER")
    assert re.fullmatch(r"[1-9]\d*:[1-9]\d*", user)
    assert words.index("USER") < words.index("ENTRYPOINT")
    after = words[words.index("USER") :]
    assert not {"RUN", "COPY", "ADD"} & set(after)


def test_what_is_copied_exists_and_is_sent_to_the_builder(stages):
    sent = re.findall(r"^!(.*)$", (ROOT / ".dockerignore").read_text(), re.MULTILINE)
    copied = [
        source for rest in arguments(stages[0], "COPY") for source in rest.split()[:-1]
    ]
    assert {"src", "pyproject.toml", "constraints.txt"} <= set(copied) <= set(sent)
    assert all((ROOT / source).exists() for source in copied)


def test_the_command_exists_and_asks_for_a_token(stages):
    program, name, *words = json.loads(arguments(stages[-1], "ENTRYPOINT")[0])
    assert (program, name) == ("crbm", "serve")
    serve = get_command(app).commands["serve"]
    known = {option for parameter in serve.params for option in parameter.opts}
    assert {word for word in words if word.startswith("--")} <= known
    assert words[words.index("--host") + 1] == "0.0.0.0"
    assert "--insecure" not in words


def test_images_are_named_with_their_version(stages):
    for stage in stages:
        (image,) = arguments(stage, "FROM")
        assert re.match(r"python:3\.\d+-slim", image)
