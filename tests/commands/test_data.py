"""Which rows and columns of a file a model gets."""

import numpy as np
import pytest

import crbm
from crbm import datasets
from crbm.commands.data import Reading, chosen, for_model, load, parse_labels

HOW = Reading()


def test_labels_are_written_as_names_numbers_files_or_none(folder):
    assert parse_labels("dog, cat") == ("dog", "cat")
    assert parse_labels("3") == 3
    assert parse_labels("none") == ()
    assert parse_labels(None) is None
    assert parse_labels(str(folder / "mulan.xml")) == folder / "mulan.xml"


def test_columns_are_found_by_name_in_any_order(trained, folder, pets, tmp_path):
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
    found = for_model(str(tmp_path / "shuffled.csv"), crbm.load(trained), HOW)
    assert np.array_equal(found.X, pets.X)
    assert np.array_equal(found.Y, pets.Y)


@pytest.mark.parametrize(
    "name", ["pets.npz", "pets.libsvm", "mulan.arff", "pets.parquet"]
)
def test_every_format_gives_the_model_the_same(trained, folder, pets, name):
    found = for_model(str(folder / name), crbm.load(trained), HOW)
    X = found.X.toarray() if hasattr(found.X, "toarray") else found.X
    assert np.allclose(X, pets.X, rtol=1e-6)
    assert np.array_equal(found.Y, pets.Y)


def test_files_without_labels_have_none(trained, pets, tmp_path):
    features = datasets.Dataset(
        X=pets.X, Y=np.zeros((len(pets), 0), np.uint8), feature_names=pets.feature_names
    )
    datasets.write(tmp_path / "new.csv", features)
    found = for_model(str(tmp_path / "new.csv"), crbm.load(trained), HOW)
    assert np.array_equal(found.X, pets.X)
    assert found.Y.shape == (len(pets), 0)


def test_labels_of_other_names_are_not_taken_for_the_models(trained, pets, tmp_path):
    other = tuple(f"other {name}" for name in pets.label_names)
    datasets.write(
        tmp_path / "a.npz", datasets.Dataset(X=pets.X, Y=pets.Y, label_names=other)
    )
    assert for_model(str(tmp_path / "a.npz"), crbm.load(trained), HOW).Y.shape[1] == 0


def test_a_missing_feature_is_named(trained, tmp_path):
    (tmp_path / "few.csv").write_text("length,weight,legs\n1,2,3\n")
    with pytest.raises(ValueError, match=r"needs 4 features; `few` has 3; `teeth` is"):
        for_model(str(tmp_path / "few.csv"), crbm.load(trained), HOW)


def test_labels_must_be_binary(trained, tmp_path):
    (tmp_path / "bad.csv").write_text(
        "length,weight,legs,teeth,dog,cat,fish,bird,frog,snake\n1,2,3,4,1,0,2,0,0,0\n"
    )
    with pytest.raises(ValueError, match="row 1: label `fish` must be 0 or 1, not 2"):
        for_model(str(tmp_path / "bad.csv"), crbm.load(trained), HOW)


def test_parts_are_official_or_those_of_the_first_fold(pets):
    fold = datasets.folds(pets)[0]
    assert np.array_equal(chosen(pets, "test").X, pets.X[fold.test])
    assert len(chosen(pets, None, "test")) == len(chosen(pets, "all")) == len(pets)
    rows = {"train": np.arange(9), "test": np.arange(9, 12)}
    official = datasets.Dataset(X=pets.X, Y=pets.Y, splits=rows)
    assert np.array_equal(chosen(official, "test").X, pets.X[9:12])
    assert np.array_equal(chosen(official, None, "test").X, pets.X[9:12])
    with pytest.raises(
        ValueError, match="no part `valid`; it has `train`, `test`, `all`"
    ):
        chosen(official, "valid")


def test_what_is_neither_a_name_nor_a_file_is_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no data file `.*nowhere\.csv`"):
        load(str(tmp_path / "nowhere.csv"), HOW)
    with pytest.raises(ValueError, match="There is no data set `yeats`; known are"):
        load("yeats", HOW)
