"""The published files: sizes, label sets, oddities and loading times.

Times are of the processor, so that a busy machine fails no test.
"""

from __future__ import annotations

import time

import numpy as np
import pytest
from scipy.sparse import issparse

from crbm.datasets import (
    Dataset,
    assemble,
    describe,
    folds,
    load,
    names,
    pipeline,
    read,
    write,
)
from crbm.datasets.assemble import LOADERS
from crbm.datasets.formats import mulan_xml

TABLE = {
    "yeast": ((2417, 103), 14, 198, 4.237),
    "scene": ((2407, 294), 6, 15, 1.074),
    "cal500": ((502, 68), 174, 502, 26.044),
    "bibtex": ((7395, 1836), 159, 2856, 2.402),
    "delicious": ((16105, 500), 983, 15806, 19.020),
    "tmc2007-500": ((28596, 500), 22, 1341, 2.158),
    "corel5k": ((5000, 499), 374, 3175, 3.522),
    "majorminer": ((2359, 918), 40, 1330, 3.852),
}


@pytest.mark.parametrize("name", TABLE)
def test_shapes_and_label_sets_are_the_published_ones(data_dir, name):
    shape, n_labels, n_label_sets, cardinality = TABLE[name]
    data = load(name, data_dir)
    assert data.X.shape == shape
    assert data.Y.shape == (shape[0], n_labels)
    assert data.n_label_sets == n_label_sets
    assert data.cardinality == pytest.approx(cardinality, abs=5e-4)
    assert data.name == name
    assert data.citation
    assert data.licence
    assert data.source.startswith("http")


@pytest.mark.parametrize("name", ["yeast", "cal500", "bibtex", "delicious", "corel5k"])
def test_the_labels_are_those_of_mulans_xml(data_dir, name):
    xml = mulan_xml.read(data_dir / "mulan" / name / f"{name}.xml")
    data = load(name, data_dir)
    assert set(data.label_names) == {name.replace("\\'", "'") for name in xml}
    assert len(data.label_names) == len(xml)


def test_reading_with_the_xml_gives_what_load_gives(data_dir, assert_same):
    folder = data_dir / "mulan" / "scene"
    train = read(folder / "scene-train.arff", labels=folder / "scene.xml")
    scene = load("scene", data_dir)
    X, Y = scene.part("train")
    assert_same(train, Dataset(X=X, Y=Y), names=False)
    assert train.label_names == scene.label_names
    assert [len(scene.splits[part]) for part in ("train", "test")] == [1211, 1196]


def test_sparse_stays_sparse_and_large_files_are_quick(data_dir):
    start = time.process_time()
    bibtex = load("bibtex", data_dir)
    assert time.process_time() - start < 3
    assert issparse(bibtex.X)
    assert bibtex.X.nnz == 507_746
    delicious = load("delicious", data_dir)
    assert issparse(delicious.X)
    assert [len(delicious.splits[part]) for part in ("train", "test")] == [12920, 3185]


def test_bibtex_is_what_its_first_line_says(data_dir):
    """The first row of each file read off its text by eye."""
    split = load("bibtex", data_dir)
    assert split.X[[0]].indices[:6].tolist() == [0, 5, 6, 20, 33, 35]
    assert [len(split.splits[part]) for part in ("train", "test")] == [4880, 2515]
    whole = LOADERS["bibtex"]([data_dir / "mulan" / "bibtex" / "bibtex.arff"])
    assert whole.X[[0]].indices[:6].tolist() == [44, 51, 95, 121, 129, 161]
    assert not whole.splits
    # the same cases in another order
    assert split.X.nnz == whole.X.nnz
    np.testing.assert_array_equal(split.Y.sum(0), whole.Y.sum(0))


def test_delicious_from_arff_equals_delicious_from_npz(data_dir, tmp_path, assert_same):
    whole = load("delicious", data_dir)
    files = []
    for part in ("train", "test"):
        X, Y = whole.part(part)
        X, Y = X[:200], Y[:200]
        files.append(tmp_path / f"{part}.arff")
        fields = {
            "feature_names": whole.feature_names,
            "label_names": whole.label_names,
        }
        write(files[-1], Dataset(X=X, Y=Y, **fields))
    found = LOADERS["delicious"](files)
    rows = np.concatenate([whole.splits[part][:200] for part in ("train", "test")])
    assert_same(found, Dataset(X=whole.X[rows], Y=whole.Y[rows], **fields))


def test_majorminer_has_groups_and_wild_scales(data_dir):
    data = load("majorminer", data_dir)
    assert len(np.unique(data.groups)) < len(data)
    assert (np.ptp(data.X, axis=0) == 0).sum() == 14
    assert np.abs(data.X).max() > 1e12


def test_horses_are_images_with_masks(data_dir):
    data = load("horses", data_dir)
    assert data.X.shape == (328, 3072)
    assert data.Y.shape == (328, 1024)
    assert (data.input_shape, data.output_shape) == ((32, 32, 3), (32, 32))
    centre = data.Y.reshape(-1, 32, 32)[:, 12:20, 12:20].mean()
    assert centre > 0.5 > data.Y.mean()  # a horse is in the middle of its picture


@pytest.fixture(scope="module")
def mnist(data_dir) -> Dataset:
    return load("mnist", data_dir)


def test_mnist_is_quick_and_split_as_in_the_paper(data_dir, mnist):
    start = time.process_time()
    load("mnist", data_dir)
    assert time.process_time() - start < 2
    assert mnist.X.shape == (70000, 784)
    spans = {name: (rows[0], rows[-1]) for name, rows in mnist.splits.items()}
    assert spans == {
        "train": (0, 49999),
        "valid": (50000, 59999),
        "test": (60000, 69999),
    }
    first = [5, 0, 4, 1, 9, 2, 1, 3, 1, 4]
    assert mnist.Y[:10].argmax(1).tolist() == first
    assert (mnist.Y.sum(1) == 1).all()


def test_the_embedded_digits_are_rows_of_mnist(data_dir, mnist):
    digits = load("mnist-5k", data_dir)
    classes = mnist.Y[:60000].argmax(1)
    rows = np.concatenate([np.flatnonzero(classes == k)[:500] for k in range(10)])
    np.testing.assert_array_equal(digits.X, mnist.X[rows])
    np.testing.assert_array_equal(digits.Y, mnist.Y[rows])


def test_embedded_yeast_is_mulans_row_for_row(data_dir, monkeypatch, assert_same):
    mulan = load("yeast", data_dir)
    monkeypatch.delenv("CRBM_DATA", raising=False)
    monkeypatch.setattr("crbm.datasets.locate.cache_folder", lambda: data_dir / "none")
    assert_same(load("yeast", download=False), mulan)


def test_noise_is_fixed_by_its_seed(data_dir, mnist):
    clean = (mnist.X > 127).astype(np.uint8)
    first = load("corrupted-mnist", data_dir)
    np.testing.assert_array_equal(first.Y, clean)
    second = load("corrupted-mnist", data_dir, seed=1)
    assert (second.X != first.X).mean() == pytest.approx(0.18, abs=3e-4)
    # 55 million pixels: the share has a standard error of 4e-5
    assert (clean != first.X).mean() == pytest.approx(0.1, abs=2e-4)
    assert (clean != load("corrupted-mnist", data_dir, rate=0.5).X).mean() > 0.49


def test_occluded_digits_only_lose_pixels(data_dir):
    data = load("occluded-mnist", data_dir)
    assert (data.X <= data.Y).all()
    assert (data.X != data.Y).any(axis=1).mean() > 0.5
    assert data.output_shape == (28, 28)


@pytest.mark.parametrize(("name", "n_labels"), [("majmin", 96), ("mturk", 95)])
def test_tag_files_are_read_and_their_sizes_checked(
    data_dir, monkeypatch, name, n_labels
):
    """Twenty real rows per part; the whole files are not at hand."""
    folder = data_dir / "paper-fixtures"
    with pytest.raises(ValueError, match=r"rows are expected; the file has 20"):
        load(name, folder)
    monkeypatch.setitem(assemble._ROWS, name, (20, 20, 20))
    data = load(name, folder)
    assert (data.X.shape, data.Y.shape) == ((60, 389), (60, n_labels))
    assert not issparse(data.X)
    assert list(data.splits) == ["train", "valid", "test"]
    assert 1 < data.cardinality < 20


def test_majmin_rows_are_what_the_text_says(data_dir):
    data = read(data_dir / "paper-fixtures" / "majmin_train.libsvm", n_labels=96)
    assert np.flatnonzero(data.Y[0]).tolist() == [4, 9, 11, 22]
    assert data.X[0, 0] == np.float32(0.065719)
    assert data.X.shape == (20, 389)


def test_rows_without_labels_are_kept(data_dir):
    """Line 12 of mturk_test starts with a space; line 11 leaves out a zero."""
    data = read(data_dir / "paper-fixtures" / "mturk_test.libsvm")
    assert len(data) == 20
    assert np.flatnonzero(data.Y.sum(1) == 0).tolist() == [11]
    assert np.diff(data.X.indptr).tolist() == [389] * 10 + [388] + [389] * 9


def test_the_registry_has_a_loader_for_every_name():
    assert set(LOADERS) == set(names())
    for name in names():
        assert describe(name).title


def test_majorminer_becomes_usable(data_dir):
    """Scales up to 1e13 and 14 constant columns; learned on the training rows.

    The largest possible z-score of n values is the root of n - 1, here 43.
    """
    data = load("majorminer", data_dir)
    fold = folds(data)[0]
    steps = pipeline("rank").fit(data.X[fold.train])
    for part in fold:
        assert np.abs(steps.transform(data.X[part])).max() < 60
