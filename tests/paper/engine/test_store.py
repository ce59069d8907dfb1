"""The store keeps every finished run, whatever happens while writing."""

import json

import pytest

import crbm
from paper.engine.store import Cell, Outcome, Store, source_digest

CELL = Cell("table1", "scene", "HashCRBM", 0, 0, {"n_bits": 7, "rungs": (1, 2)})
OTHER = CELL._replace(fold=1)


def add(store, cell, hamming):
    return store.add(cell, Outcome({"hamming": hamming}, {"chosen": {}}), seconds=1.25)


def test_a_row_has_the_promised_fields(tmp_path):
    add(Store(tmp_path / "new" / "rows.jsonl"), CELL, 8.5)
    [line] = (tmp_path / "new" / "rows.jsonl").read_text().splitlines()
    row = json.loads(line)
    assert row.keys() >= {
        *("experiment", "dataset", "model", "fold", "seed", "config"),
        *("metrics", "versions", "seconds", "finished"),
    }
    assert row["metrics"] == {"hamming": 8.5}
    assert row["versions"].keys() >= {"crbm", "torch", "numpy", "scikit-learn"}


def test_the_source_has_another_name_when_a_line_changes(tmp_path, monkeypatch):
    def named(text):
        (tmp_path / "a.py").write_text(text)
        source_digest.cache_clear()
        return source_digest()

    monkeypatch.setattr(crbm, "__file__", str(tmp_path / "__init__.py"))
    assert named("x = 1") == named("x = 1") != named("x = 2")
    source_digest.cache_clear()


def test_rows_are_found_again_by_another_process(tmp_path):
    path = tmp_path / "rows.jsonl"
    written = add(Store(path), CELL, 8.5)
    again = Store(path)
    assert again.find(CELL) == written
    assert again.find(OTHER) is None
    assert again.find(CELL._replace(config={"n_bits": 9, "rungs": (1, 2)})) is None


@pytest.mark.parametrize("n_left", [1, 40, -1])
def test_a_row_cut_off_by_a_crash_is_written_anew(tmp_path, n_left):
    path = tmp_path / "rows.jsonl"
    store = Store(path)
    add(store, CELL, 8.5)
    whole = path.read_bytes()
    add(store, OTHER, 9.5)
    second = path.read_bytes()[len(whole) :]
    path.write_bytes(whole + second[:n_left])

    continued = Store(path)
    # without its newline the last row is still whole, and is kept
    if n_left != -1:
        assert continued.find(OTHER) is None
        add(continued, OTHER, 9.5)
    figures = [row["metrics"]["hamming"] for row in Store(path)]
    assert figures == [8.5, 9.5]
    for line in path.read_text().splitlines():
        json.loads(line)


def test_a_whole_last_row_without_newline_survives_the_next_one(tmp_path):
    path = tmp_path / "rows.jsonl"
    add(Store(path), CELL, 8.5)
    path.write_bytes(path.read_bytes().rstrip(b"\n"))
    add(Store(path), OTHER, 9.5)
    assert [row["metrics"]["hamming"] for row in Store(path)] == [8.5, 9.5]


@pytest.mark.parametrize("line", ["{broken", "", "5", '{"model": "CD-1"}'])
def test_a_line_that_is_no_row_is_told_with_its_number(tmp_path, line):
    path = tmp_path / "rows.jsonl"
    add(Store(path), CELL, 8.5)
    rows = path.read_text()
    for number, content in ((1, f"{line}\n{rows}"), (2, f"{rows}{line}\n")):
        path.write_text(content)
        with pytest.raises(ValueError, match=rf"line {number}: not the JSON row of"):
            Store(path)
        assert path.read_text() == content
