"""Marginals, modes, samples and probabilities of masks, in bounded memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Generator, Tensor

from crbm.energies import Energy, is_bipartite
from crbm.estimators.pixels.batches import Scaling, encode_labels, to_tensor
from crbm.inference import enumeration, exact, gibbs, mean_field, partition, search
from crbm.models import ConvCRBM

NUMBERS_AT_ONCE = 2**19  # outputs of a batch, counted as numbers
N_MEAN_FIELD_STEPS, N_GIBBS_STEPS = 10, 200
TILE, OVERLAP = 1024, 64  # pixels


class Conditioned(NamedTuple):
    """Images of one size as an energy, and their places among all images."""

    places: list[int]
    energy: Energy
    size: tuple[int, int]


class Labeller(NamedTuple):
    """A trained model and the encoding of its inputs and outputs.

    With `mirrors` its answers are the mean of those for an image and its mirror image.
    """

    model: ConvCRBM
    scaling: Scaling
    n_labels: int
    mirrors: bool = False

    @torch.no_grad()
    def condition(
        self, images: Sequence[np.ndarray], known: Sequence[np.ndarray] | None = None
    ) -> Iterator[Conditioned]:
        """The images, those of one size together, a bounded number of pixels at once.

        `known` are masks with -1 where a label is not known.
        """
        like = next(self.model.parameters())
        for places in self._groups(images):
            u = torch.stack([to_tensor(images[place]) for place in places]).to(like)
            condition = (
                self.model.condition_mirrored if self.mirrors else self.model.condition
            )
            energy = condition(self.scaling(u)).detach()
            if known is not None:
                energy = energy.clamp(self.encode([known[p] for p in places]))
            yield Conditioned(places, energy, (u.shape[-2], u.shape[-1]))

    def encode(self, masks: Sequence[np.ndarray]) -> Tensor:
        """Masks of one size as rows of outputs."""
        labels = torch.from_numpy(np.stack(masks))
        like = next(self.model.parameters())
        return self.model.flatten_outputs(encode_labels(labels, self.n_labels, like))

    def labels(self, v: Tensor, size: tuple[int, int]) -> np.ndarray:
        """Rows of outputs as masks (..., height, width)."""
        pixels = v.unflatten(-1, (*size, self.model.visible.width))
        labels = pixels[..., 0] if pixels.shape[-1] == 1 else pixels.argmax(-1)
        return labels.numpy().astype(np.int64)

    def probabilities(self, mean: Tensor, size: tuple[int, int]) -> np.ndarray:
        """Rows of means as probabilities (..., labels, height, width)."""
        pixels = mean.unflatten(-1, (*size, self.model.visible.width))
        if pixels.shape[-1] == 1:
            pixels = torch.cat([1 - pixels, pixels], -1)
        return pixels.movedim(-1, -3).numpy()

    def _groups(self, images: Sequence[np.ndarray]) -> Iterator[list[int]]:
        by_size: dict[tuple[int, ...], list[int]] = {}
        for place, image in enumerate(images):
            by_size.setdefault(image.shape[:2], []).append(place)
        for (height, width), places in by_size.items():
            n_numbers = height * width * self.model.visible.width * (1 + self.mirrors)
            n_images = max(1, NUMBERS_AT_ONCE // n_numbers)
            for start in range(0, len(places), n_images):
                yield places[start : start + n_images]


def marginals(energy: Energy) -> Tensor:
    """p of each label of each pixel: exact with global hidden units, or mean field."""
    if energy.is_independent:
        found = energy.visible.mean(energy.independent_field(), energy.known)
    elif enumeration.is_enumerable(energy):
        found = exact.marginals(energy).v
    else:
        found = mean_field.run(energy, n_steps=N_MEAN_FIELD_STEPS).v
    return _not_overflowed(found)


def likeliest(energy: Energy) -> Tensor:
    """The likeliest label of each pixel."""
    return energy.visible.round(marginals(energy))


def mode(energy: Energy) -> Tensor:
    """A likely mask as a whole: the best mode given any hidden state, or a search."""
    if energy.is_independent:
        return likeliest(energy)
    if is_bipartite(energy) and enumeration.is_enumerable(energy):
        found = enumeration.mode_given_hidden(energy)
    else:
        found = search.mean_field(energy, n_steps=N_MEAN_FIELD_STEPS)
    _not_overflowed(found.free_energy)
    return energy.visible.round(found.v)


def sample(energy: Energy, n_samples: int, generator: Generator) -> Tensor:
    """Masks (samples, batch, visible): exact, or the ends of Gibbs chains."""
    if energy.is_independent or enumeration.is_enumerable(energy):
        return exact.sample(energy, n_samples, generator)
    start = energy.start(generator).expand(n_samples, *energy.batch_shape, -1)
    return gibbs.run(energy, start, n_steps=N_GIBBS_STEPS, generator=generator).v


def log_probability(energy: Energy, v: Tensor) -> Tensor:
    """Log p(v | u), pixels that are NaN summed out; log Z by AIS for hidden maps."""
    log_z = partition.log_partition(energy)
    if v.isnan().any():
        found = partition.log_partition(energy.clamp(v)) - log_z
    else:
        found = -energy.free_energy(v) - log_z
    return _not_overflowed(found).clamp(max=0)  # not above 0 by rounding, or by AIS


def _not_overflowed(found: Tensor) -> Tensor:
    """The numbers; raises for NaN, which overflow leaves."""
    if found.isnan().any():
        raise ValueError("The images' numbers overflow in this model. Scale them.")
    return found


class Window(NamedTuple):
    """A part of a large image: the pixels to read, and those of them to keep."""

    read: tuple[slice, slice]
    keep: tuple[slice, slice]

    @property
    def inside(self) -> tuple[slice, slice]:
        """The pixels to keep, counted within those read."""
        pairs = zip(self.read, self.keep, strict=True)
        first, second = (slice(k.start - r.start, k.stop - r.start) for r, k in pairs)
        return first, second


def windows(height: int, width: int) -> list[Window]:
    """Overlapping windows of at most `TILE` pixels a side that cover an image."""
    return [
        Window((rows, columns), (kept_rows, kept_columns))
        for rows, kept_rows in _spans(height)
        for columns, kept_columns in _spans(width)
    ]


def _spans(length: int) -> list[tuple[slice, slice]]:
    """Overlapping spans, and the part of the whole that each of them decides."""
    if length <= TILE:
        return [(slice(0, length), slice(0, length))]
    spans, start, stop = [], 0, 0
    while stop < length:
        stop = min(start + TILE, length)
        first = 0 if start == 0 else start + OVERLAP
        last = length if stop == length else stop - OVERLAP
        spans.append((slice(start, stop), slice(first, last)))
        start = stop - 2 * OVERLAP
    return spans


def by_window(
    labeller: Labeller,
    images: Sequence[np.ndarray],
    known: Sequence[np.ndarray] | None,
    infer: Callable[[Energy], Tensor],
    decode: Callable[[Labeller, Tensor, tuple[int, int]], np.ndarray],
) -> list[np.ndarray]:
    """What `infer` and `decode` give for each image; large images in windows."""
    cut = [windows(*image.shape[:2]) for image in images]
    pairs = [(place, part) for place, parts in enumerate(cut) for part in parts]
    pieces = [images[place][part.read] for place, part in pairs]
    given = None if known is None else [known[p][part.read] for p, part in pairs]
    found: dict[int, np.ndarray] = {}
    for places, energy, size in labeller.condition(pieces, given):
        found |= zip(places, decode(labeller, infer(energy), size), strict=True)
    in_order = iter([found[number] for number in range(len(pairs))])
    return [
        _join(image, parts, in_order) for image, parts in zip(images, cut, strict=True)
    ]


def _join(
    image: np.ndarray, parts: list[Window], found: Iterator[np.ndarray]
) -> np.ndarray:
    """The answer for an image from those for its windows."""
    if len(parts) == 1:
        return next(found)
    answers = [next(found) for _ in parts]
    whole = np.empty((*answers[0].shape[:-2], *image.shape[:2]), answers[0].dtype)
    for part, answer in zip(parts, answers, strict=True):
        whole[(..., *part.keep)] = answer[(..., *part.inside)]
    return whole
