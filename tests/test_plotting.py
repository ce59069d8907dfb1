"""Pictures show what they are given."""

import matplotlib as mpl
import numpy as np
import pytest

from crbm import plotting

mpl.use("agg")


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    from matplotlib import pyplot

    pyplot.close("all")


def test_restorations_are_white_red_and_blue():
    noisy, predicted = np.array([[1, 1, 0, 0]]), np.array([[1, 0, 1, 0]])
    axes = plotting.restoration(noisy, {"model": predicted}, (2, 2))
    assert axes.shape == (1, 2)
    assert axes[0, 1].get_title() == "model"
    shown = axes[0, 1].images[0].get_array()
    white, blue, red, black = shown.reshape(4, 3).tolist()
    assert white == [255, 255, 255]
    assert tuple(blue) == plotting.BLUE
    assert tuple(red) == plotting.RED
    assert black == [0, 0, 0]


def test_filters_show_the_strongest_units_first():
    weights = np.array([[1.0, 5.0], [2.0, 6.0], [3.0, 7.0], [4.0, 8.0]])
    ax = plotting.filters(weights, (2, 2), n_filters=1)
    shown = np.asarray(ax.images[0].get_array().filled(np.nan))
    assert shown[:2, :2].tolist() == [[5, 6], [7, 8]]


def test_couplings_are_named_and_even():
    strength = np.array([[0.0, -2.0], [-2.0, 0.0]])
    ax = plotting.label_couplings(strength, ["dog", "cat"])
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["dog", "cat"]
    assert ax.images[0].get_clim() == (-2, 2)


def test_calibration_shows_the_curve_where_there_are_cases():
    ax = plotting.calibration([[0, 1, 1, 1]], [[0.1, 0.8, 0.8, 0.8]], n_bins=4)
    measured = ax.lines[1]
    assert measured.get_xdata() == pytest.approx([0.1, 0.8])
    assert measured.get_ydata() == pytest.approx([0, 1])


def test_axes_given_are_the_axes_drawn_on():
    from matplotlib.figure import Figure

    ax = Figure().subplots()
    assert plotting.calibration([[0, 1]], [[0.2, 0.9]], ax=ax) is ax


@pytest.mark.parametrize("ending", plotting.ENDINGS)
def test_the_same_picture_is_the_same_file(ending, tmp_path, monkeypatch):
    paths = [tmp_path / f"{name}{ending}" for name in ("one", "other")]
    for year, path in enumerate(paths, 1):
        monkeypatch.setenv("SOURCE_DATE_EPOCH", str(year * 10**8))
        plotting.save(plotting.filters, path, np.eye(4), (2, 2))
    assert paths[0].read_bytes() == paths[1].read_bytes()


def test_chain_diagnostics_show_both_measures_of_changing_quantities():
    draws = np.random.default_rng(0).random((4, 50, 3))
    draws[..., 2] = 1  # never changes
    left, right = plotting.chain_diagnostics({"coins": draws})
    for ax, limit in ((left, 1.01), (right, 400)):
        shown = ax.lines[0].get_ydata()
        assert len(shown) == 2
        assert ax.lines[1].get_ydata()[0] == limit
    assert (left.lines[0].get_ydata() < 1.2).all()
    assert (right.lines[0].get_ydata() > 50).all()
