"""Couplings: `down` is the transpose of `up`, and `product` its gradient."""

import pytest
import torch
from torch.testing import assert_close

from conftest import seeded
from crbm.energies import Conv2d, Dense, PerCase

SIZE = (4, 5)


def normal(*shape, seed=0):
    return torch.randn(shape, dtype=torch.float64, generator=seeded(seed))


COUPLINGS = {
    "dense": lambda: (Dense(normal(6, 3)), 6, 3),
    "conv": lambda: (Conv2d(normal(3, 1, 3, 3), SIZE), 20, 60),
    "conv with channels": lambda: (Conv2d(normal(2, 3, 5, 3), SIZE), 60, 40),
}


@pytest.fixture(params=COUPLINGS)
def parts(request):
    return COUPLINGS[request.param]()


@pytest.mark.parametrize("leading", [(), (4,), (4, 2)])
def test_down_is_the_adjoint_of_up(parts, leading):
    coupling, n_visible, n_hidden = parts
    v, h = normal(*leading, n_visible, seed=1), normal(*leading, n_hidden, seed=2)
    above = (coupling.up(v) * h).sum(-1)
    assert_close(above, (v * coupling.down(h)).sum(-1), rtol=1e-12, atol=1e-12)


def test_biases_are_added(parts):
    coupling, n_visible, n_hidden = parts
    v, h = normal(4, n_visible, seed=1), normal(4, n_hidden, seed=2)
    assert_close(coupling.up(v, h), coupling.up(v) + h)
    assert_close(coupling.down(h, v), coupling.down(h) + v)


def test_product_is_the_gradient_by_the_weight(parts):
    coupling, n_visible, n_hidden = parts
    v, h = normal(4, n_visible, seed=1), normal(4, n_hidden, seed=2)
    coupling.weight.requires_grad_()
    (expected,) = torch.autograd.grad((coupling.up(v) * h).sum(), coupling.weight)
    assert_close(coupling.detach().product(v, h), expected)


def test_weights_per_case_serve_several_states_and_leading_axes():
    weight = normal(4, 6, 3)
    coupling, v = PerCase(weight), normal(5, 4, 6, seed=1)
    expected = torch.stack([v[:, case] @ weight[case] for case in range(4)], 1)
    assert_close(coupling.up(v), expected)
    assert_close(coupling.with_state_axis().up(v.movedim(0, 1)), expected.movedim(0, 1))
    shared = v[:, 0]  # the same states for all cases
    expected = torch.stack([shared @ weight[case] for case in range(4)])
    assert_close(coupling.with_state_axis().up(shared), expected)
    h = normal(4, 3, seed=2)
    assert_close((coupling.up(v[0]) * h).sum(), (v[0] * coupling.down(h)).sum())
    rows = v.movedim(0, 1).flatten(0, 1), normal(20, 3, seed=3)
    weight.requires_grad_()
    fields = PerCase(weight).with_state_axis().up(rows[0].unflatten(0, (4, 5)))
    (expected,) = torch.autograd.grad((fields.flatten(0, 1) * rows[1]).sum(), weight)
    assert_close(coupling.detach().product(*rows), expected)


def test_a_convolution_is_a_sum_over_the_window():
    weight = normal(2, 3, 3, 3)
    coupling, (height, width) = Conv2d(weight, SIZE), SIZE
    v = normal(1, height * width * 3, seed=1)
    image = v.view(height, width, 3)
    expected = torch.zeros(height, width, 2, dtype=torch.float64)
    for y in range(height):
        for x in range(width):
            for dy in range(3):
                for dx in range(3):
                    row, column = y + dy - 1, x + dx - 1
                    if 0 <= row < height and 0 <= column < width:
                        expected[y, x] += weight[:, :, dy, dx] @ image[row, column]
    assert_close(coupling.up(v), expected.view(1, -1))


def test_tempering_scales_and_detaching_forgets(parts):
    coupling, n_visible, _ = parts
    v = normal(4, n_visible, seed=1)
    assert_close(coupling.tempered(0.25).up(v), 0.25 * coupling.up(v))
    coupling.weight.requires_grad_()
    assert coupling.up(v).requires_grad
    assert not coupling.detach().up(v).requires_grad
