"""Tables of all formats, as people have them."""

from __future__ import annotations

import datetime
import gzip
import io
import json
import zipfile

import numpy as np
import openpyxl
import pandas as pd
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest
from scipy.sparse import issparse

from crbm.datasets import read, write
from crbm.datasets.formats import csv_table, table
from crbm.datasets.formats.set_labels import from_sets
from crbm.preprocessing import Table, TableWarning
from crbm.preprocessing.recognition import recognise

TABLE = "weight,dog,cat\n30.5,1,0\n\n4,0,1\n"
NAN = np.nan


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_round_trip(tmp_path, small, assert_same, ending):
    file = tmp_path / f"small{ending}"
    if issparse(small.X):
        with pytest.raises(ValueError, match="sparse data cannot be a table"):
            write(file, small)
        return
    write(file, small)
    assert_same(read(file, labels=list(small.label_names)), small)
    assert_same(read(file, labels=-2), small)


def test_labels_are_named_or_counted(put):
    path = put("pets.csv.gz", gzip.compress(TABLE.encode()))
    assert read(path, labels=["cat", "dog"]).Y.tolist() == [[0, 1], [1, 0]]
    assert read(path, labels=-1).label_names == ("cat",)
    assert read(path, labels="dog").label_names == ("dog",)
    assert read(path, labels=()).X.shape == (2, 3)


# The same two rows, in the ways of the world.
EUROPEAN = "größe;preis;hund\r\n1,5;1.000,5;1\r\n2,25;3;0\r\n"
NUMBERS = [[1.5, 1000.5], [2.25, 3.0]]


@pytest.mark.parametrize(
    "content",
    [
        EUROPEAN.encode(),
        EUROPEAN.encode("utf-8-sig"),
        EUROPEAN.encode("utf-16"),
        EUROPEAN.replace(";", "\t").encode(),
        EUROPEAN.replace(";", "|").encode(),
        EUROPEAN.replace("1.000,5", "1000,5").encode(),
        (EUROPEAN.replace("\r\n", ";;\r\n") + ";;;;\r\n;;;;\r\n").encode(),
        EUROPEAN.replace(".", "").replace(",", ".").replace(";", ",").encode(),
    ],
    ids=["semicolon", "mark", "utf16", "tab", "bar", "plain", "empty", "us"],
)
def test_separators_decimals_and_encodings_are_recognised(put, content):
    data = read(put("pets.csv", content), labels=["hund"], raw=True)
    assert data.feature_names == ("größe", "preis")
    assert data.Y.tolist() == [[1], [0]]
    prices = data.X["preis"].values
    if data.X["preis"].kind == "string":  # left to the encoder: groups of digits
        assert prices.tolist() == ["1.000,5", "3"]
    else:
        assert prices.tolist() == [1000.5, 3]
    assert data.X["größe"].values.tolist() == [1.5, 2.25]


def test_points_beside_decimal_commas_separate_thousands(put):
    path = put("a.csv", "sum;share\n1.234;0,5\n999;1.000,25\n")
    found = table.read_table(path, "csv")
    assert found.decimal == ","
    assert recognise(found, "sum").form == ","
    assert found["share"].values.tolist() == ["0,5", "1.000,25"]


@pytest.mark.parametrize("first", ["sep=;\r\n", '"sep=;"\n', "\n\n"])
def test_lines_before_the_names_are_left_out(put, first):
    path = put("a.csv", f"{first}weight;dog\n30;1\n4;so\n")
    assert table.read_table(path, "csv").names == ["weight", "dog"]
    line = 5 if first == "\n\n" else 4
    with pytest.raises(ValueError, match=f"line {line}, column `dog`: 'so' is not"):
        read(path, labels=["dog"])


def test_text_that_is_not_utf8_is_read_with_a_warning(put):
    path = put("pets.csv", EUROPEAN.encode("cp1252"))
    with pytest.warns(TableWarning, match="not UTF-8 and is read as Windows-1252"):
        assert read(path, labels=-1).feature_names[0] == "größe"


def test_a_csv_file_is_parsed_once(put, monkeypatch):
    parsed = []
    parse = csv_table._parse
    monkeypatch.setattr(
        csv_table, "_parse", lambda *args: parsed.append(args) or parse(*args)
    )
    read(put("pets.csv", TABLE), labels=-2)
    assert len(parsed) == 1


RECORDS = [
    {"age": 57, "plan": "free", "since": datetime.date(2024, 1, 2), "dog": True},
    {"age": None, "plan": None, "since": None, "dog": False},
    {"age": 30, "plan": "pro", "since": datetime.date(2024, 3, 1), "dog": True},
]
PLAIN = [
    {"age": 57.0, "plan": "free", "since": "2024-01-02T00:00:00"},
    {"age": None, "plan": None, "since": None},
    {"age": 30.0, "plan": "pro", "since": "2024-03-01T00:00:00"},
]


def as_excel(file):
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.append(list(RECORDS[0]))
    for record in RECORDS:
        sheet.append(list(record.values()))
    book.save(file)


def as_json(file):
    lines = [json.dumps(record, default=str) for record in RECORDS]
    file.write_text("\n".join(lines))


WRITERS = {
    "a.csv": lambda file: pd.DataFrame(RECORDS).to_csv(file, index=False),
    "a.tsv": lambda file: pd.DataFrame(RECORDS).to_csv(file, index=False, sep="\t"),
    "a.parquet": lambda file: pq.write_table(pa.Table.from_pylist(RECORDS), file),
    "a.feather": lambda file: feather.write_feather(
        pa.Table.from_pylist(RECORDS), file
    ),
    "a.arrow": lambda file: feather.write_feather(pa.Table.from_pylist(RECORDS), file),
    "a.xlsx": as_excel,
    "a.jsonl": as_json,
    "b.json": lambda file: file.write_text(json.dumps(RECORDS, default=str)),
}


@pytest.mark.parametrize("name", WRITERS)
def test_all_formats_give_the_same_table(tmp_path, name):
    WRITERS[name](tmp_path / name)
    data = read(tmp_path / name, labels=["dog"])
    assert data.Y.tolist() == [[1], [0], [1]]
    assert isinstance(data.X, Table)
    found = data.X.records()
    if name.endswith(("json", "jsonl")):  # has no dates
        found = [r | {"since": r["since"] and f"{r['since']}T00:00:00"} for r in found]
    assert found == PLAIN
    assert (
        repr(data)
        == f"Dataset(name='{name[0]}', X=(3, 3) table, Y=(3, 1) dense, splits=[])"
    )


@pytest.mark.parametrize(
    ("words", "values"),
    [
        (["yes", "No", "YES"], [1, 0, 1]),
        (["True", "false", "TRUE"], [1, 0, 1]),
        (["+", "-", "+"], [1, 0, 1]),
        (["y", "n", ""], [1, 0, NAN]),
        (["1", "-1", "NA"], [1, 0, NAN]),
        (["1.0", "0", "?"], [1, 0, NAN]),
    ],
)
def test_labels_may_be_words_and_may_be_missing(put, words, values):
    rows = "".join(f"{i},{word}\n" for i, word in enumerate(words))
    data = read(put("a.csv", "x,dog\n" + rows), labels=["dog"])
    np.testing.assert_array_equal(data.Y[:, 0], values)
    assert data.Y.dtype == (np.float32 if np.isnan(values).any() else np.uint8)


def test_one_column_may_hold_sets_of_labels(put, tmp_path):
    path = put("a.csv", "x,is\n1,dog; big\n2,\n3,cat\n")
    data = read(path, labels=["is"], label_separator=";")
    assert data.label_names == ("big", "cat", "dog")
    assert data.Y.tolist() == [[1, 0, 1], [0, 0, 0], [0, 1, 0]]
    assert data.label_source == {"column": "is", "separator": ";"}
    file = tmp_path / "a.parquet"
    table = {"x": [1, 2, 3], "is": [["dog", "big"], None, []]}
    pq.write_table(pa.table(table), file)
    data = read(file, labels=["is"])
    assert data.label_names == ("big", "dog")
    np.testing.assert_array_equal(data.Y, [[1, 1], [NAN, NAN], [0, 0]])


def test_lists_written_as_texts_are_sets(put):
    path = put("a.csv", 'x,is\n1,"[\'dog\', \'big\']"\n2,[]\n3,"[""dog""]"\n4,\n')
    data = read(path, labels=["is"])
    assert data.label_names == ("big", "dog")
    np.testing.assert_array_equal(data.Y, [[1, 1], [0, 0], [0, 1], [NAN, NAN]])
    assert data.label_source == {"column": "is", "separator": None}


def test_words_for_missing_values_are_no_labels():
    rows = [{"is": "dog;cat"}, {"is": "n/a"}, {"is": " ? "}, {"is": ""}]
    values, names = from_sets(Table.from_records(rows), "is", ";")
    assert names == ["cat", "dog"]
    np.testing.assert_array_equal(values, [[1, 1], [NAN, NAN], [NAN, NAN], [0, 0]])


def test_fields_of_structs_are_columns_and_bytes_are_left_out(tmp_path):
    columns = {
        "x": [{"p": 1, "q": {"r": "a"}}, None],
        "file": [b"1", b"2"],
        "y": [1, 2],
    }
    pq.write_table(pa.table(columns), tmp_path / "a.parquet")
    found = table.read_table(tmp_path / "a.parquet", "parquet")
    assert found.records() == [
        {"x.p": 1, "x.q.r": "a", "y": 1},
        {"x.p": None, "x.q.r": None, "y": 2},
    ]
    assert found.notes == ("`file` holds binary values: left out",)


def test_a_separator_that_never_occurs_is_noticed(put):
    path = put("a.csv", "x,is\n1,dog;big\n2,dog\n3,cat;big\n4,cat\n")
    with pytest.warns(TableWarning, match=r"has the separator '\|'.* Is it ';'\?"):
        read(path, labels=["is"], label_separator="|")


def test_objects_in_json_are_columns_named_after_both(put):
    lines = [{"user": {"plan": "pro", "at": {"x": 1}}}, {"user": None}, {"y": 2}]
    path = put("a.jsonl", "\n".join(map(json.dumps, lines)))
    assert table.read_table(path, "json").records() == [
        {"user.plan": "pro", "user.at.x": 1.0, "y": None},
        {"user.plan": None, "user.at.x": None, "y": None},
        {"user.plan": None, "user.at.x": None, "y": 2.0},
    ]


def test_the_index_of_a_pandas_frame_is_left_out(tmp_path):
    frame = pd.DataFrame({"x": [5.0, 1, 7, 2], "y": [1, 0, 1, 0]})
    some = frame[frame.x > 1.5]
    some.to_parquet(tmp_path / "a.parquet")
    with pytest.warns(TableWarning, match="`__index_level_0__` is the index of a pand"):
        data = read(tmp_path / "a.parquet", labels=["y"])
    assert data.feature_names == ("x",)
    some.set_index(some.x.rename("key")).to_feather(tmp_path / "a.feather")
    with pytest.warns(TableWarning, match="`key` is the index of a pandas frame"):
        assert read(tmp_path / "a.feather", labels=["y"]).feature_names == ("x",)
    some.to_csv(tmp_path / "a.csv")
    with pytest.warns(TableWarning, match="no name and numbers the rows: left out"):
        assert read(tmp_path / "a.csv", labels=["y"]).feature_names == ("x",)


QUOTED = 'note,dog\n"two\nlines",1\n\n'  # the next line is the fifth


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "file is empty"),
        ("weight,dog\n", "no rows after the header"),
        ("weight,dog", "no rows after the header"),
        ("\n\n\n", "no line names the columns"),
        ("0.5,1.5\n1,0\n", "line 1: the first line must name the columns"),
        (TABLE.replace("4,0,1", "4,0"), "line 4: Expected 3 columns, got 2"),
        (TABLE.replace("4,0,1", "4,0,1,1"), "line 4: Expected 3 columns, got 4"),
        (TABLE.replace("4,0,1", "4,0,2"), "line 4, column `cat`: '2' is not 0 or 1"),
        (TABLE.replace("4,0,1", "4,0,so"), "line 4, column `cat`: 'so' is not 0 or 1"),
        (TABLE.replace("cat", "dog"), "column name `dog` appears twice"),
        (QUOTED + "x,maybe\n", "line 5, column `dog`: 'maybe' is not 0 or 1"),
        (QUOTED + "x\n", "line 5: Expected 2 columns, got 1"),
    ],
)
def test_damaged_csv_is_named_with_its_line(put, text, message):
    path = put("bad.csv", text)
    with pytest.raises(ValueError, match=message) as caught:
        read(path, labels=-1)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_labels_must_be_named(put):
    path = put("pets.csv", TABLE)
    with pytest.raises(ValueError, match="pass `labels`"):
        read(path)
    with pytest.raises(ValueError, match=r"The first are `weight`, `dog`, `cat`\."):
        read(path, labels=["bird"])
    with pytest.raises(ValueError, match="label name `dog` appears twice"):
        read(path, labels=["dog", "dog"])
    with pytest.raises(ValueError, match="need one label column; 2 are named"):
        read(path, labels=["dog", "cat"], label_separator=";")
    with pytest.raises(ValueError, match="column `dog`: sets of labels are lists, or"):
        read(path, labels=["dog"], label_separator=";")


def test_numbers_that_are_not_finite_stay_in_a_table(put):
    path = put("pets.csv", TABLE.replace("30.5", "inf"))
    assert read(path, labels=-2).X["weight"].values.tolist() == [np.inf, 4.0]


def archive_of_the_future():
    """A zip archive that needs version 8.4 of the format."""
    stream, member = io.BytesIO(), zipfile.ZipInfo("xl/workbook.xml")
    member.extract_version = 84
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr(member, b"<x/>")
    return stream.getvalue()


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("bad.parquet", b"PAR1 nothing", "not a complete Parquet file"),
        ("bad.feather", b"ARROW1", "not a complete Arrow file"),
        ("bad.xlsx", b"PK\x03\x04 nothing", "not a complete Excel file"),
        ("new.xlsx", archive_of_the_future(), r"Excel file \(zip file version 8\.4"),
        ("bad.jsonl", b'{"x": 1}\n{"x": \n', "line 2: not JSON"),
        ("bad.jsonl", b'{"x": 1}\n[1]\n', "line 2: not a JSON object"),
        ("bad.jsonl", b'{"x": 1}\n{"x": [1]}', "line 2, column `x` .* the kind list"),
        ("bad.jsonl", b'{"x": 1}\n{"x": {"y": 1}}', "line 2, column `x` holds an obj"),
        ("bad.jsonl", b'{"x": {"y": 1}, "x.y": 1}', "column `x.y` appears twice"),
        ("bad.jsonl", b'{"x": {}}', "no rows"),
        ("an.xlsx", b"PAR1 nothing", "says excel, but the content is parquet"),
        ("a.parquet", b"ARROW1", "the content is arrow.* `--format arrow`"),
        ("a.csv", b"PK\x03\x04 nothing", "says csv, but the content is excel"),
        ("a.tsv", b'{"x": 1}', "the content is json"),
        ("old.xlsx", b"\xd0\xcf\x11\xe0 nothing", "Save it as .xlsx"),
        ("bad.json", b"[]", "no rows"),
    ],
)
def test_other_damaged_files_are_named(put, name, content, message):
    path = put(name, content)
    with pytest.raises(ValueError, match=message) as caught:
        read(path, labels=())
    assert str(caught.value).startswith(f"`{path}`")


def test_a_wrong_label_is_named_with_its_row(tmp_path):
    file = tmp_path / "a.xlsx"
    as_excel(file)
    with pytest.raises(
        ValueError, match=r"a.xlsx`, row 2, column `since`: .* is not a class"
    ):
        read(file, labels=["since"])


@pytest.mark.parametrize("name", ["a.xlsx", "a.arrow", "a.csv", "a.jsonl"])
def test_a_file_larger_than_allowed_is_refused(tmp_path, name):
    WRITERS[name](tmp_path / name)
    with pytest.raises(ValueError, match="uncompressed size is"):
        read(tmp_path / name, labels=(), max_bytes=10)


def test_names_of_many_columns_are_read(tmp_path):
    names = [f"column {place}" for place in range(9000)]
    file = tmp_path / "wide.csv"
    file.write_text(";".join(names) + "\n" + ";".join(["1"] * 9000) + "\n")
    assert len(file.read_text()) > 2**16
    assert read(file, labels=-1).feature_names == tuple(names[:-1])
