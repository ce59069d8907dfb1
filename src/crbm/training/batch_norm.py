"""Batch normalisation over the cases of all ranks."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import torch
from torch import Tensor, distributed as dist, nn
from torch.nn.modules.batchnorm import _BatchNorm


@contextmanager
def joint_statistics(model: nn.Module) -> Iterator[None]:
    """Normalise by the mean and variance of whole batches, not of this rank's shard.

    In training mode only. torch's `SyncBatchNorm` does the same on GPUs.
    """
    layers = [each for each in model.modules() if isinstance(each, _BatchNorm)]
    for layer in layers:
        layer.forward = partial(_normalise, layer)  # type: ignore[method-assign]
    try:
        yield
    finally:
        for layer in layers:
            del layer.forward


class _Sum(torch.autograd.Function):
    """The sum over ranks; so is its gradient, as the loss is such a sum."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        total = x.clone()
        dist.all_reduce(total)
        return total

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Tensor:
        total = gradients[0].clone()
        dist.all_reduce(total)
        return total


def _normalise(layer: _BatchNorm, x: Tensor) -> Tensor:
    if not layer.training:
        return type(layer).forward(layer, x)
    kind = x.dtype
    x = x.to(torch.promote_types(kind, torch.float32))  # sums need more than bfloat16
    of_channels = [0, *range(2, x.ndim)]
    shape = [1, -1] + [1] * (x.ndim - 2)
    count = x.new_tensor([x.numel() / x.shape[1]])
    sums = _Sum.apply(torch.cat([x.sum(of_channels), count]))
    n, mean = sums[-1], sums[:-1] / sums[-1]
    centred = x - mean.view(shape)
    variance = _Sum.apply(centred.square().sum(of_channels)) / n
    found = centred * (variance + layer.eps).rsqrt().view(shape)
    if layer.affine:
        found = found * layer.weight.view(shape) + layer.bias.view(shape)
    if layer.track_running_stats:
        _remember(layer, mean.detach(), variance.detach() * n / (n - 1))
    return found.to(kind)


def _remember(layer: _BatchNorm, mean: Tensor, variance: Tensor) -> None:
    """Move the running mean and variance, which predictions use."""
    assert layer.num_batches_tracked is not None
    layer.num_batches_tracked.add_(1)
    share = layer.momentum
    if share is None:
        share = 1 / float(layer.num_batches_tracked)
    for running, new in ((layer.running_mean, mean), (layer.running_var, variance)):
        assert running is not None
        running.lerp_(new, share)
