"""Threads are chosen by the size of the work, and put back."""

import pytest
import torch

import crbm
from crbm.training.threads import suited_threads


@pytest.fixture(autouse=True)
def _two_threads():
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(1)


def threads_within(model, batch_size, **options):
    with suited_threads(model, batch_size, **options):
        return torch.get_num_threads()


def test_small_updates_run_on_one_thread():
    assert threads_within(crbm.CRBM(20, 10, 5), 32) == 1
    assert torch.get_num_threads() == 2


def test_large_updates_share_the_work():
    assert threads_within(crbm.CRBM(784, 784, 256), 128) == 2


def test_the_user_may_override():
    assert threads_within(crbm.CRBM(20, 10, 5), 32, n_threads=2) == 2
    assert threads_within(crbm.CRBM(784, 784, 256), 128, n_threads=1) == 1
    with pytest.raises(ValueError, match="`n_threads` must be at least 1"):
        threads_within(crbm.CRBM(20, 10, 5), 32, n_threads=0)


def test_the_setting_is_put_back_after_an_error():
    with pytest.raises(RuntimeError), suited_threads(crbm.CRBM(2, 2, 2), 1):
        raise RuntimeError
    assert torch.get_num_threads() == 2
