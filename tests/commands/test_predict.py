"""`crbm predict`: the predictions of the classifier, with label names."""

import csv

import numpy as np
import pytest
from pyarrow import parquet

import crbm
from crbm.commands import predict


def rows_of(path):
    with path.open(newline="") as stream:
        return list(csv.DictReader(stream))


def test_labels_as_csv(trained, folder, pets, tmp_path):
    out = tmp_path / "labels.csv"
    predict.run(trained, str(folder / "pets.csv"), out=out)
    rows = rows_of(out)
    assert tuple(rows[0]) == pets.label_names
    found = np.array([[int(value) for value in row.values()] for row in rows])
    assert np.array_equal(found, crbm.load(trained).predict(pets.X))


def test_probabilities_as_parquet(trained, folder, pets, tmp_path):
    out = tmp_path / "p.parquet"
    predict.run(trained, str(folder / "pets.csv"), proba=True, out=out)
    table = parquet.read_table(out)
    assert tuple(table.column_names) == pets.label_names
    expected = crbm.load(trained).predict_proba(pets.X)
    assert np.array_equal(table["cat"].to_numpy(), expected[:, 1])


def test_label_sets_as_csv_and_npz(trained, folder, pets, tmp_path):
    expected = crbm.load(trained).predict_top_k(pets.X, k=2)
    for name in ("sets.csv", "sets.npz"):
        predict.run(trained, str(folder / "pets.csv"), top_k=2, out=tmp_path / name)
    arrays = np.load(tmp_path / "sets.npz")
    assert np.array_equal(arrays["labels"], expected.labels)
    assert np.array_equal(arrays["probability"], expected.probability)
    assert arrays["label_names"].tolist() == list(pets.label_names)
    third = rows_of(tmp_path / "sets.csv")[3]
    assert (third["row"], third["rank"]) == ("2", "2")
    assert float(third["probability"]) == pytest.approx(
        expected.probability[1, 1],
        rel=1e-5,  # six digits are written
    )
    assert [int(third[name]) for name in pets.label_names] == list(
        expected.labels[1, 1]
    )


def test_predictions_use_known_labels(trained, folder, pets, tmp_path):
    (tmp_path / "known.csv").write_text("cat,dog\n" + "1,\n" * len(pets))
    found = predict.run(
        trained, str(folder / "pets.csv"), proba=True, known=tmp_path / "known.csv"
    )
    known = np.full(pets.Y.shape, np.nan)
    known[:, 1] = 1
    expected = crbm.load(trained).predict_proba(pets.X, known=known)
    assert np.array_equal(found.arrays["probability"], expected)
    np.savez(tmp_path / "known.npz", known=known)
    again = predict.run(
        trained, str(folder / "pets.csv"), top_k=1, known=tmp_path / "known.npz"
    )
    assert (again.arrays["labels"][:, 0, 1] == 1).all()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("horse\n1\n", "no column that is a label of the model, such as `dog`"),
        ("cat\n1\n", "must have 120 rows"),
        ("cat\n1\nso\n", "line 3, column `cat`: 'so' is not 0 or 1, yes or no"),
    ],
)
def test_wrong_known_labels_are_refused(trained, folder, tmp_path, text, message):
    (tmp_path / "known.csv").write_text(text)
    with pytest.raises(ValueError, match=message):
        predict.run(trained, str(folder / "pets.csv"), known=tmp_path / "known.csv")


def test_wrong_options_are_refused_before_prediction(trained, folder, tmp_path):
    source = str(folder / "pets.csv")
    with pytest.raises(ValueError, match=r"must end in one of `\.csv`, `\.parquet`"):
        predict.run(trained, source, out=tmp_path / "p.txt")
    with pytest.raises(
        FileNotFoundError, match=r"folder `.*nowhere` .* does not exist"
    ):
        predict.run(trained, source, out=tmp_path / "nowhere" / "p.csv")
    with pytest.raises(ValueError, match="Choose one of --proba and --top-k"):
        predict.run(trained, source, proba=True, top_k=1)


def test_the_file_that_is_read_is_never_replaced(trained, folder, tmp_path):
    file, known = tmp_path / "mine.csv", tmp_path / "known.csv"
    file.write_bytes((folder / "pets.csv").read_bytes())
    known.write_text("cat\n" + "1\n" * 120)
    for out in (file, tmp_path / "." / "mine.csv", known):
        with pytest.raises(ValueError, match="is read by this command"):
            predict.run(trained, str(file), out=out, known=known, force=True)
    assert file.read_bytes() == (folder / "pets.csv").read_bytes()


def test_labels_in_the_file_are_not_read(trained, folder, pets, tmp_path):
    content = (folder / "pets.csv").read_text().splitlines()
    content[1] = ",".join([*content[1].split(",")[:-1], "perhaps"])
    (tmp_path / "a.csv").write_text("\n".join(content))
    found = predict.run(trained, str(tmp_path / "a.csv"))
    assert np.array_equal(found.arrays["labels"], crbm.load(trained).predict(pets.X))
