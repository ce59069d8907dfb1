"""Ctrl-C ends a run cleanly, says how to go on, and a second one ends it at once."""

import signal
import threading

import pytest

import long_runs
from crbm.training import Checkpoint, Interrupted
from crbm.training.interrupts import delayed_signals


@pytest.fixture(autouse=True)
def _usual_handlers():
    """Handlers as in a script on a terminal, whatever started the tests."""
    usual = {
        signal.SIGINT: signal.default_int_handler,
        signal.SIGTERM: signal.SIG_DFL,
    }
    before = {number: signal.signal(number, usual[number]) for number in usual}
    yield
    assert {number: signal.getsignal(number) for number in usual} == usual
    for number, handler in before.items():
        signal.signal(number, handler)


class Signals:
    """Sends signals to this very process within one update of a run."""

    def __init__(self, *numbers, update=6):
        self.numbers, self.update, self.n_updates = numbers, update, 0

    def __call__(self, batch, generator):
        self.n_updates += 1
        if self.n_updates == self.update:
            for number in self.numbers:
                signal.raise_signal(number)
        return batch


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_keeps_the_run_and_says_how_to_go_on(number, tmp_path):
    kept = Checkpoint(tmp_path / "kept.safetensors", every_seconds=None)
    with pytest.raises(Interrupted, match=r"epoch 1 after 2 updates.*`resume`"):
        long_runs.run("plain", checkpoint=kept, augment=Signals(number))
    found = long_runs.run("plain", checkpoint=kept, resume=True, augment=Signals())
    expected = long_runs.run("plain")
    long_runs.assert_same(long_runs.outcome(*found), long_runs.outcome(*expected))


def test_interrupted_scripts_stop():
    assert issubclass(Interrupted, KeyboardInterrupt)
    assert not issubclass(Interrupted, Exception)


def test_a_second_ctrl_c_ends_at_once(tmp_path):
    kept = Checkpoint(tmp_path / "kept.safetensors", every_seconds=None)
    twice = Signals(signal.SIGINT, signal.SIGINT)
    with pytest.raises(KeyboardInterrupt) as raised:
        long_runs.run("plain", checkpoint=kept, augment=twice)
    assert raised.type is KeyboardInterrupt
    assert twice.n_updates == 6
    assert list(tmp_path.iterdir()) == []


def test_a_signal_during_the_last_words_is_not_lost(tmp_path):
    kept = Checkpoint(tmp_path / "kept.safetensors")

    def last_words(place, epoch):
        if place == 3:
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(Interrupted):
        long_runs.run("plain", checkpoint=kept, callback=last_words)


def test_without_a_checkpoint_ctrl_c_is_pythons_own():
    with pytest.raises(KeyboardInterrupt) as raised:
        long_runs.run("plain", augment=Signals(signal.SIGINT))
    assert raised.type is KeyboardInterrupt


def test_ignored_signals_stay_ignored():
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with delayed_signals() as noted:
        signal.raise_signal(signal.SIGINT)
    assert not noted.is_set()
    assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    signal.signal(signal.SIGINT, signal.default_int_handler)


def test_other_threads_train_without_handlers(tmp_path):
    kept = Checkpoint(tmp_path / "kept.safetensors")
    found = []
    thread = threading.Thread(
        target=lambda: found.append(long_runs.run("plain", checkpoint=kept))
    )
    thread.start()
    thread.join()
    assert len(found) == 1
