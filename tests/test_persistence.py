"""Files of tensors: digests, descriptions that lie, and disks that are full."""

import errno
import os
import random

import pytest
import torch
from safetensors import SafetensorError
from safetensors.torch import save_file

from crbm import persistence

TENSORS = {"weight": torch.arange(6.0).reshape(2, 3), "one": torch.tensor(3)}


@pytest.fixture
def path(tmp_path):
    file = tmp_path / "model.safetensors"
    persistence.write(file, TENSORS, {"sizes": {10: 1, 9: 2}, "rate": float("nan")})
    return file


def test_what_was_written_is_read(path):
    tensors, description = persistence.read(path)
    assert torch.equal(tensors["weight"], TENSORS["weight"])
    assert description["sizes"] == {"10": 1, "9": 2}
    assert "digest" not in description


def test_names_of_other_kinds_of_files_are_refused(tmp_path):
    for name in ("model.pkl", "model.PT"):
        with pytest.raises(ValueError, match=r"Name it `model\.safetensors`"):
            persistence.write(tmp_path / name, TENSORS, {})
    persistence.write(tmp_path / "model.bin", TENSORS, {})
    assert [path.name for path in tmp_path.iterdir()] == ["model.bin"]


def test_any_flipped_bit_is_noticed(path):
    """In tensors, in names, in the description and in the digest itself."""
    content, draw = path.read_bytes(), random.Random(0)
    for _ in range(300):
        place = draw.randrange(len(content))
        changed = bytearray(content)
        changed[place] ^= 1 << draw.randrange(8)
        path.write_bytes(changed)
        if content[place] != ord(" "):  # padding
            with pytest.raises(ValueError, match=r"model\.safetensors"):
                persistence.read(path)


def test_files_of_format_1_are_read(path):
    save_file(TENSORS, path, {"crbm": '{"format": "crbm", "format_version": 1}'})
    assert torch.equal(persistence.read(path)[0]["weight"], TENSORS["weight"])
    save_file(TENSORS, path, {"crbm": '{"format": "crbm", "format_version": 2}'})
    with pytest.raises(ValueError, match="is damaged"):
        persistence.read(path)


@pytest.mark.parametrize(
    "text",
    [
        '{"format": "other", "format_version": 1}',
        '{"format": "crbm", "format_version": -5}',
        '{"format": "crbm", "format_version": 1e400}',
        '{"format": "crbm", "format_version": 1.5}',
        '{"format": "crbm", "format_version": true}',
        '{"format": "crbm", "format_version": ' + "9" * 4000 + "}",
        '{"format_version": 1}',
        "[" * 100_000,
        "[1]",
        "null",
    ],
)
def test_strange_descriptions_are_refused(tmp_path, text):
    file = tmp_path / "m.safetensors"
    save_file(TENSORS, file, {"crbm": text})
    with pytest.raises(ValueError, match=r"m\.safetensors") as raised:
        persistence.read(file)
    assert len(str(raised.value)) < 500


def test_pipes_and_devices_are_refused(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for place in (pipe, "/dev/zero"):
        with pytest.raises(ValueError, match="is a pipe or a device; a model file"):
            persistence.read(place)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("I/O error: No space left on device (os error 28)", errno.ENOSPC),
        ("something else", None),
    ],
)
def test_errors_of_safetensors_are_errors_of_the_system(
    path, monkeypatch, text, number
):
    def fail(*args):
        raise SafetensorError(text)

    before = path.read_bytes()
    monkeypatch.setattr(persistence, "save_file", fail)
    with pytest.raises(OSError, match=r"model\.safetensors") as raised:
        persistence.write(path, TENSORS, {})
    assert raised.value.errno == number
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]
