"""The record of a run: as plain data, as a table and as curves."""

import json
import xml.etree.ElementTree as ET

import pytest

from crbm.training import Epoch, History

HISTORY = History([Epoch(3.0, 0.5, 1.0), Epoch(1.0, 0.25, 2.0)], 1, "early")


def test_a_history_comes_back_from_json():
    plain = json.loads(json.dumps(HISTORY.as_dict()))
    assert History.from_dict(plain) == HISTORY


def cells(history):
    """The rows of the table in a notebook, by name."""
    rows = ET.fromstring(history._repr_html_())
    return {row.find("th").text: row.find("td") for row in rows}


def test_notebooks_show_a_table_with_sparklines():
    table = cells(HISTORY)
    assert table["epochs"].text == "2 in 3.0 s"
    assert table["ended"].text == "early"
    assert table["best epoch"].text == "1"
    assert table["loss"].find("svg").tail == " 1"
    assert table["validation error"].find("svg").tail == " 0.25"
    line = table["loss"].find("svg/polyline").attrib["points"]
    assert line == "0.0,2.0 160.0,22.0"  # from the top left to the bottom right


@pytest.mark.parametrize("history", [History(), History([Epoch(1.0, None, 1.0)])])
def test_short_histories_have_a_table_too(history):
    table = cells(history)
    assert table["ended"].text == "after all epochs"
    assert "best epoch" not in table


def test_curves_hold_the_numbers():
    pyplot = pytest.importorskip("matplotlib.pyplot")
    figure, given = pyplot.subplots()
    axes = HISTORY.plot(given)
    assert axes is given
    assert axes.lines[0].get_ydata().tolist() == [3.0, 1.0]
    right = next(other for other in figure.axes if other is not axes)
    assert right.lines[0].get_ydata().tolist() == [0.5, 0.25]
    assert list(right.lines[1].get_xdata()) == [1, 1]
    pyplot.close(figure)


def test_without_validation_there_is_one_scale():
    pyplot = pytest.importorskip("matplotlib.pyplot")
    axes = History([Epoch(1.0, None, 1.0)]).plot()
    assert axes.figure.axes == [axes]
    pyplot.close(axes.figure)
