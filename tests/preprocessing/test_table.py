"""Tables made of frames, records and arrays."""

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from crbm.preprocessing import Table
from crbm.preprocessing.table import to_column

RECORDS = [
    {"n": 1, "s": "a", "b": True, "d": datetime.date(2024, 1, 2), "l": ["x"]},
    {"n": None, "s": None, "b": None, "d": None, "l": None},
]


def frames():
    arrow = pa.Table.from_pylist(RECORDS)
    yield arrow
    yield arrow.to_pandas()
    yield pd.DataFrame(RECORDS).convert_dtypes()
    yield pl.DataFrame(RECORDS)


@pytest.mark.parametrize("frame", list(frames()), ids=lambda f: type(f).__module__)
def test_all_frames_give_the_same_table(frame):
    table = Table.from_frame(frame)
    kinds = {name: column.kind for name, column in table.columns.items()}
    assert kinds == {"n": "number", "s": "string", "b": "boolean", "d": "date"} | {
        "l": "list"
    }
    plain = {"n": 1.0, "s": "a", "b": True, "d": "2024-01-02T00:00:00", "l": ["x"]}
    assert table.records() == [plain, dict.fromkeys(plain)]


def test_categories_of_a_frame_are_not_taken_for_numbers():
    frame = pd.DataFrame({"zip": pd.Categorical([1010, 2020])})
    assert Table.from_frame(frame).roles == {"zip": "categorical"}


def test_rows_keep_their_place():
    table = Table.from_records([{"a": i} for i in range(5)])
    assert table[2:][np.array([True, False, True])].place(1) == "Row 5"
    assert table[[3, 1]]["a"].values.tolist() == [3, 1]


def test_names_that_come_twice_are_refused():
    frame = pd.DataFrame([[1, 2]], columns=["a", "a"])
    with pytest.raises(ValueError, match="column name `a` appears twice"):
        Table.from_frame(frame)


def test_other_values_are_refused_with_their_column():
    with pytest.raises(ValueError, match=r"Row 1, column `a` .* the kind dict"):
        to_column("a", [{"b": 1}])
    with pytest.raises(ValueError, match=r"Row 3, column `a` .* the kind list"):
        to_column("a", [2, None, [1], 2])


def test_values_of_several_kinds_become_strings():
    mixed = [1, 2.5, "x", None, True, datetime.date(2024, 1, 2)]
    column = to_column("a", mixed)
    texts = ["1", "2.5", "x", None, "True", "2024-01-02 00:00:00"]
    assert column.values.tolist() == texts
