"""The rows and columns of a file that a model gets."""

import os

import numpy as np
import pytest

import crbm
from crbm import datasets
from crbm.commands.data import for_model, load, select_part
from crbm.commands.reading import Reading, parse_labels
from crbm.commands.tables import to_inputs

READING = Reading()


def test_labels_parse_as_names_a_number_a_file_or_none(folder):
    assert parse_labels("dog, cat") == ("dog", "cat")
    assert parse_labels("3") == 3
    assert parse_labels("none") == ()
    assert parse_labels(None) is None
    assert parse_labels(str(folder / "mulan.xml")) == folder / "mulan.xml"


def test_columns_are_matched_by_name_in_any_order(trained, folder, pets, tmp_path):
    order = ["cat", "teeth", "legs", "weight", "extra", "length", "dog"]
    order += ["fish", "bird", "frog", "snake"]
    columns = dict(
        zip(
            (*pets.feature_names, *pets.label_names),
            np.hstack([pets.X, pets.Y]).T,
            strict=True,
        )
    )
    columns["extra"] = np.zeros(len(pets))
    rows = np.stack([columns[name] for name in order], axis=1)
    lines = [",".join(order), *(",".join(map(repr, row.tolist())) for row in rows)]
    (tmp_path / "shuffled.csv").write_text("\n".join(lines))
    found = for_model(str(tmp_path / "shuffled.csv"), crbm.load(trained), READING)
    assert np.array_equal(to_inputs(found.X, crbm.load(trained)), pets.X)
    assert np.array_equal(found.Y, pets.Y)


@pytest.mark.parametrize(
    "name", ["pets.npz", "pets.libsvm", "mulan.arff", "pets.parquet"]
)
def test_every_format_gives_the_model_the_same_arrays(trained, folder, pets, name):
    found = for_model(str(folder / name), crbm.load(trained), READING)
    X = to_inputs(found.X, crbm.load(trained))
    X = X.toarray() if hasattr(X, "toarray") else X
    assert np.allclose(X, pets.X, rtol=1e-6)
    assert np.array_equal(found.Y, pets.Y)


def test_files_without_labels_have_none(trained, pets, tmp_path):
    features = datasets.Dataset(
        X=pets.X, Y=np.zeros((len(pets), 0), np.uint8), feature_names=pets.feature_names
    )
    datasets.write(tmp_path / "new.csv", features)
    found = for_model(str(tmp_path / "new.csv"), crbm.load(trained), READING)
    assert np.array_equal(to_inputs(found.X, crbm.load(trained)), pets.X)
    assert found.Y.shape == (len(pets), 0)


def test_labels_with_other_names_are_ignored(trained, pets, tmp_path):
    other = tuple(f"other {name}" for name in pets.label_names)
    datasets.write(
        tmp_path / "a.npz", datasets.Dataset(X=pets.X, Y=pets.Y, label_names=other)
    )
    assert (
        for_model(str(tmp_path / "a.npz"), crbm.load(trained), READING).Y.shape[1] == 0
    )


def test_a_missing_feature_is_named(trained, tmp_path):
    (tmp_path / "few.csv").write_text("length,weight,legs\n1,2,3\n")
    with pytest.raises(ValueError, match=r"few.csv`: There is no column `teeth`"):
        for_model(str(tmp_path / "few.csv"), crbm.load(trained), READING)


def test_labels_must_be_binary(trained, tmp_path):
    (tmp_path / "bad.csv").write_text(
        "length,weight,legs,teeth,dog,cat,fish,bird,frog,snake\n1,2,3,4,1,0,2,0,0,0\n"
    )
    with pytest.raises(ValueError, match="line 2, column `fish`: '2' is not 0 or 1"):
        for_model(str(tmp_path / "bad.csv"), crbm.load(trained), READING)


def test_parts_are_official_splits_or_parts_of_the_first_fold(pets):
    fold = datasets.folds(pets)[0]
    assert np.array_equal(select_part(pets, "test").X, pets.X[fold.test])
    assert (
        len(select_part(pets, None, "test"))
        == len(select_part(pets, "all"))
        == len(pets)
    )
    rows = {"train": np.arange(9), "test": np.arange(9, 12)}
    official = datasets.Dataset(X=pets.X, Y=pets.Y, splits=rows)
    assert np.array_equal(select_part(official, "test").X, pets.X[9:12])
    assert np.array_equal(select_part(official, None, "test").X, pets.X[9:12])
    with pytest.raises(
        ValueError, match="no part `valid`; it has `train`, `test`, `all`"
    ):
        select_part(official, "valid")


def test_a_source_that_is_neither_name_nor_file_is_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no data file `.*nowhere\.csv`"):
        load(str(tmp_path / "nowhere.csv"), READING)
    with pytest.raises(
        ValueError, match=r"There is no data set `yeats`\. The names are"
    ):
        load("yeats", READING)


def test_a_pipe_is_refused_before_it_is_read(tmp_path):
    os.mkfifo(tmp_path / "a.csv")
    with pytest.raises(ValueError, match="is a pipe or a device; a data file is"):
        load(str(tmp_path / "a.csv"), READING)
