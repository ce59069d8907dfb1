"""The documentation: its code runs, its commands exist, its tables are measured.

`cli/test_docs.py` runs the page of the command line, commands and code.
"""

import importlib.util
import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from matplotlib import pyplot
from typer.main import get_command

from crbm.cli import app
from crbm.cli.bench import markdown
from crbm.estimators.crbm import INFERENCES, OBJECTIVES
from paper.report import pages

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
FENCED = re.compile(r"^```(\w*)\n(.*?)^```$", flags=re.DOTALL | re.MULTILINE)


def blocks(text, *languages):
    """The fenced blocks in some languages."""
    return [body for language, body in FENCED.findall(text) if language in languages]


RUNNING = [
    page
    for page in PAGES
    if blocks(page.read_text(), "python") and page.name != "command_line.md"
]


def name_of(page):
    return page.relative_to(ROOT).as_posix()


@pytest.fixture
def temporary_folder(tmp_path, monkeypatch):
    """Run in a temporary folder, and restore the registries afterwards."""
    monkeypatch.chdir(tmp_path)
    for registry in (INFERENCES, OBJECTIVES):
        for name in ("sampled", "pseudo_likelihood"):
            monkeypatch.delitem(registry, name, raising=False)
    yield
    pyplot.close("all")


@pytest.mark.usefixtures("temporary_folder")
@pytest.mark.parametrize("page", RUNNING, ids=name_of)
def test_python_blocks_run(page, capsys):
    names = {"__name__": "__main__"}
    for block in blocks(page.read_text(), "python"):
        exec(compile(block, name_of(page), "exec"), names)
    if page.name == "README.md":
        accuracy = float(re.findall(r"[\d.]+", capsys.readouterr().out)[-1])
        assert accuracy > 0.95


def commands(text):
    """Every call of `crbm` in shell blocks and in sentences."""
    shell = "\n".join(blocks(text, "", "bash", "console")).replace("\\\n", " ")
    lines = re.findall(r"^(?:\$ )?(crbm .*)$", shell, flags=re.MULTILINE)
    return lines + re.findall(r"`(crbm\s[^`]+)`", FENCED.sub("", text))


def unknown_words(line):
    """Commands and options of a call that `crbm` does not have."""
    command, words = get_command(app), shlex.split(line, comments=True)[1:]
    while words and hasattr(command, "commands") and not words[0].startswith("-"):
        if words[0] not in command.commands:
            return words[:1]
        command = command.commands[words.pop(0)]
    options = [
        option
        for parameter in command.params
        for option in (*parameter.opts, *parameter.secondary_opts)
    ]
    named = [word.split("=")[0] for word in words if re.match(r"--?[a-z]", word)]
    return [word for word in named if word not in (*options, "--help")]


CALLS = {(name_of(page), line) for page in PAGES for line in commands(page.read_text())}


@pytest.mark.parametrize(("page", "line"), sorted(CALLS))
def test_commands_exist(page, line):
    assert unknown_words(line) == []


def test_unknown_commands_and_options_are_detected():
    text = "```\n$ crbm train x \\\n  --no-such 1\n```\nand `crbm data lost` too"
    assert [unknown_words(line) for line in commands(text)] == [["--no-such"], ["lost"]]
    assert len(CALLS) > 20


@pytest.fixture
def tuning():
    """The script behind the tuning guide."""
    path = ROOT / "examples" / "tuning_effects.py"
    spec = importlib.util.spec_from_file_location("tuning_effects", path)
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    return script


MEASURED = json.loads((ROOT / "results" / "tuning-effects.json").read_text())


def test_tuning_tables_have_the_measured_numbers(tuning):
    page = (ROOT / "docs" / "tuning.md").read_text()
    for problem, changes in tuning.CHANGES.items():
        assert tuning.table(MEASURED, problem) in page
        rows = [row["change"] for row in MEASURED if row["problem"] == problem]
        assert rows[:: len(tuning.SEEDS)] == list(changes)


def test_tuning_effects_can_be_measured_again(tuning):
    first = MEASURED[0]
    again = tuning.label_errors(first["change"], first["seed"])
    # other processors round differently, which changes a few labels
    assert again == pytest.approx(first["metrics"], abs=1)
    assert 0 < tuning.digit_errors({"n_epochs": 1}, 0)["all"] < 50


@pytest.mark.parametrize("name", pages.PAGES)
def test_tables_of_results_are_rendered_from_the_rows(name):
    text = (ROOT / name).read_text(encoding="utf-8")
    assert pages.BLOCK.search(text)
    # if this fails: python -m paper.report.pages
    assert pages.render(text, ROOT / "results") == text


@pytest.mark.parametrize(
    ("page", "suite"),
    [
        ("speed", "floor"),
        ("speed", "loops"),
        ("speed", "network"),
        ("speed", "precision"),
        ("serving", "serve"),
        ("scaling", "cluster"),
        ("scaling", "growth"),
        ("scaling", "peers"),
        ("scaling", "ranks"),
        ("scaling", "stored"),
        ("scaling", "table"),
    ],
)
def test_tables_of_benchmarks_are_their_output(page, suite):
    rows = json.loads((ROOT / "results" / f"bench-{suite}.json").read_text())
    assert markdown(rows) in (ROOT / "docs" / f"{page}.md").read_text()


def test_the_site_builds_without_a_warning_and_needs_no_network(tmp_path):
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet"]
    built = subprocess.run(
        [*command, "--config-file", ROOT / "mkdocs.yml", "--site-dir", tmp_path],
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
    )
    assert built.returncode == 0, built.stderr
    pages = {path.stem: path.read_text() for path in tmp_path.rglob("*.html")}
    assert {page.stem for page in PAGES[1:]} <= pages.keys()
    for html in pages.values():
        loaded = re.findall(r"<(?:script|img|iframe|link)\b[^>]*>", html)
        assert [tag for tag in loaded if "//" in tag] == []
    words = " ".join(re.sub(r"<[^>]*>", " ", pages["api"]).split())
    assert "batch_size ( int , default: 32 )" in words  # documented with n_epochs
