"""Our noise and the authors' own 60 rows of each kind."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from crbm.datasets import binarise, flip_pixels, load, occlude
from crbm.datasets.formats import npz


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


@pytest.mark.parametrize("dtype", [torch.uint8, torch.float32, torch.bool, torch.int64])
def test_flips_keep_the_type_and_only_flip(dtype):
    V = (torch.rand(50, 20, generator=seeded()) < 0.3).to(dtype)
    noisy = flip_pixels(V, 0.2, seeded(1))
    assert noisy.dtype == dtype
    changed = noisy != V
    assert torch.equal(noisy[changed] == 1, V[changed] == 0)
    assert torch.equal(noisy, flip_pixels(V, 0.2, seeded(1)))
    assert torch.equal(flip_pixels(V, 0.0, seeded()), V)


def test_the_share_of_flips_is_the_rate():
    V = torch.zeros(1000, 784)
    share = flip_pixels(V, 0.1, seeded()).mean().item()
    assert share == pytest.approx(0.1, abs=4 * (0.09 / 784_000) ** 0.5)


def test_the_global_seed_is_left_alone():
    before = torch.get_rng_state()
    flip_pixels(torch.zeros(3, 4), 0.5, seeded())
    occlude(torch.zeros(3, 784), generator=seeded())
    assert torch.equal(torch.get_rng_state(), before)


def patches(changed: np.ndarray) -> np.ndarray:
    """Top, left, height and width of what changed in each image (n, 28, 28)."""
    rows, columns = changed.any(2), changed.any(1)
    top, left = rows.argmax(1), columns.argmax(1)
    bottom = 28 - rows[:, ::-1].argmax(1)
    right = 28 - columns[:, ::-1].argmax(1)
    return np.stack([top, left, bottom - top, right - left], axis=1)


def test_a_full_image_loses_exactly_one_patch_anywhere_inside():
    n_images = 21 * 21 * 20
    noisy = occlude(torch.ones(n_images, 784), generator=seeded())
    found = patches((noisy == 0).reshape(-1, 28, 28).numpy())
    assert (noisy == 0).sum(1).unique().tolist() == [64]
    assert (found[:, 2:] == 8).all()
    counts = np.bincount(found[:, 0] * 21 + found[:, 1], minlength=441)
    # Chi-square with 440 degrees of freedom, 20 expected per place: p > 1e-3.
    assert len(counts) == 441
    assert ((counts - 20) ** 2 / 20).sum() < 537


def test_wrong_arguments_are_refused():
    with pytest.raises(ValueError, match="`rate` must be a probability"):
        flip_pixels(torch.zeros(2), 1.5)
    with pytest.raises(ValueError, match="one image of 28 x 28 per row"):
        occlude(torch.zeros(2, 100))
    with pytest.raises(ValueError, match="`size` 29 does not fit"):
        occlude(torch.zeros(2, 784), size=29)


def authors(data_dir, kind: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Noisy and clean images, transposed from the authors' column-major order."""
    arrays = npz.read_arrays(data_dir / "paper-fixtures" / f"{kind}_mnist.npz")
    turned = [
        arrays[key].reshape(-1, 28, 28).transpose(0, 2, 1).reshape(-1, 784)
        for key in ("X", "Y")
    ]
    return turned[0], turned[1], arrays["split"]


@pytest.mark.paper
@pytest.mark.parametrize("kind", ["corrupted", "occluded"])
def test_the_authors_targets_are_our_binarised_digits(data_dir, kind):
    """Every target is a row of ours, in the part the authors have it in."""
    _, clean, split = authors(data_dir, kind)
    mnist = load("mnist", data_dir)
    for part, name in enumerate(["train", "valid", "test"]):
        ours = np.packbits(binarise(mnist.X[mnist.splits[name]]), axis=1)
        known = {row.tobytes() for row in ours}
        theirs = np.packbits(clean[split == part], axis=1)
        assert len(theirs) == 20
        assert all(row.tobytes() in known for row in theirs)


@pytest.mark.paper
def test_the_authors_flip_as_many_pixels_as_we_do(data_dir):
    noisy, clean, _ = authors(data_dir, "corrupted")
    flips = noisy != clean
    # 60 x 784 flips: standard error 0.0014
    assert flips.mean() == pytest.approx(0.1, abs=3 * 0.0014)
    on = clean == 1
    assert flips[on].mean() == pytest.approx(flips[~on].mean(), abs=0.015)
    ours = flip_pixels(torch.from_numpy(clean), 0.1, seeded()).numpy() != clean
    spread = flips.sum(1).std() / ours.sum(1).std()
    assert 0.7 < spread < 1.4  # independent flips: as varied as ours


@pytest.mark.paper
def test_the_authors_blank_a_patch_as_we_do(data_dir):
    """What went dark fits an 8 x 8 patch, is all dark there, and lies anywhere."""
    noisy, clean, _ = authors(data_dir, "occluded")
    assert (noisy <= clean).all()
    found = patches((noisy != clean).reshape(-1, 28, 28))[(noisy != clean).any(1)]
    assert found[:, 2:].max() == 8
    for image, target in zip(noisy, clean, strict=True):
        assert fits_one_patch(image.reshape(28, 28), target.reshape(28, 28))
    ours = occlude(torch.from_numpy(clean), generator=seeded()).numpy()
    lost, ours_lost = (clean - noisy).sum(1), (clean - ours).sum(1)
    # means of 60 rows each, standard deviation about 12
    assert lost.mean() == pytest.approx(ours_lost.mean(), abs=3 * 12 * (2 / 60) ** 0.5)


def fits_one_patch(image: np.ndarray, target: np.ndarray) -> bool:
    """Whether blanking some 8 x 8 place of the target gives the image."""
    for top in range(21):
        for left in range(21):
            tried = target.copy()
            tried[top : top + 8, left : left + 8] = 0
            if (tried == image).all():
                return True
    return False
