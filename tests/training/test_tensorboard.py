"""Event files for TensorBoard hold what the history holds."""

import sys

import pytest

import long_runs
from crbm.training import Checkpoint, Epoch, TensorBoard


def read_back(folder):
    """The curves in a folder, as TensorBoard itself reads them."""
    pytest.importorskip("tensorboard", reason="needs crbm[tensorboard]")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    found = EventAccumulator(str(folder)).Reload()
    return {
        name: [(event.step, event.value) for event in found.Scalars(name)]
        for name in found.Tags()["scalars"]
    }


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_curves_are_the_history(tmp_path):
    board = TensorBoard(tmp_path)
    _, history = long_runs.run("adam", callback=board)
    board.close()
    curves = read_back(tmp_path)
    assert set(curves) == {"loss", "validation", "seconds"}
    for name in ("loss", "validation"):
        expected = list(enumerate(getattr(history, name)))
        assert curves[name] == [(p, pytest.approx(v, rel=1e-6)) for p, v in expected]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_resumed_run_goes_on_in_the_same_curves(tmp_path):
    for n_epochs in (2, 4):
        board = TensorBoard(tmp_path / "events")
        kept = Checkpoint(tmp_path / "kept.safetensors")
        options = {"n_epochs": n_epochs, "checkpoint": kept, "resume": True}
        long_runs.run("plain", callback=board, **options)
        board.close()
    assert [step for step, _ in read_back(tmp_path / "events")["loss"]] == [0, 1, 2, 3]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_epochs_run_again_replace_those_logged_before(tmp_path):
    for first, loss in ((0, 0.5), (1, 0.25)):
        board = TensorBoard(tmp_path)
        for place in range(first, 3):
            board(place, Epoch(loss, None, 1.0))
        board.close()
    assert read_back(tmp_path)["loss"] == [(0, 0.5), (1, 0.25), (2, 0.25)]


def test_a_missing_package_is_told_before_training(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    with pytest.raises(ImportError, match=r"Install it with `crbm\[tensorboard\]`"):
        TensorBoard(tmp_path)
