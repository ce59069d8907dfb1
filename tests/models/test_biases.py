"""Where biases start: base rates counted one by one."""

import math

import pytest
import torch
from torch.testing import assert_close

import crbm


def base_log_odds(v, weight):
    """How much more often each output is on than off, each counted once more."""
    found = []
    for column in zip(*v, strict=True):
        on = sum(w for x, w in zip(column, weight, strict=True) if x == 1)
        off = sum(w for x, w in zip(column, weight, strict=True) if x == 0)
        found.append(math.log((on + 1) / (off + 1)))
    return torch.tensor(found)


V = [[0, 1, 1], [0, 1, math.nan], [0, 0, 1], [0, 1, 0]]


@pytest.mark.parametrize("weight", [None, [2.0, 0.5, 0.0, 3.0]])
def test_outputs_start_at_their_base_rates(weight):
    model = crbm.CRBM(2, 3, 4)
    couplings = model.weight_vh.clone()
    given = None if weight is None else torch.tensor(weight)
    model.start_biases(torch.tensor(V), hidden=-3.0, weight=given)
    assert_close(model.bias_v.data, base_log_odds(V, weight or [1] * 4))
    assert_close(model.bias_h.data, torch.full((4,), -3.0))
    assert torch.equal(model.weight_vh, couplings)


def test_a_model_without_couplings_then_predicts_base_rates():
    model = crbm.RBM(3, 2)
    torch.nn.init.zeros_(model.weight_vh)
    v = torch.tensor([[0.0, 1.0, 1.0], [0.0, 1.0, 0.0]])
    model.start_biases(v, hidden=-2.0)
    marginals = crbm.inference.exact.marginals(model.condition())
    assert_close(marginals.v, torch.tensor([0.25, 0.75, 0.5]))


def test_a_classifier_starts_there_from_the_cases_it_learns():
    X, Y = torch.rand(40, 2).numpy(), torch.tensor(V).nan_to_num().repeat(10, 1)
    classifier = crbm.CRBMClassifier(hidden_bias=-1.0, n_hidden=4, n_epochs=0)
    (model,) = classifier.fit(X, Y.int().numpy()).models_
    assert_close(model.bias_v.data, base_log_odds(Y.tolist(), [1] * 40))
    assert_close(model.bias_h.data, torch.full((4,), -1.0))
    before = model.bias_v.clone()
    classifier.set_params(warm_start=True).fit(X, 1 - Y.int().numpy())
    assert torch.equal(classifier.models_[0].bias_v, before)  # it goes on
    (model,) = (
        classifier.set_params(hidden_bias=None, warm_start=False, learning_rate=0.1)
        .fit(X, Y.int().numpy())
        .models_
    )
    assert not model.bias_v.any()
