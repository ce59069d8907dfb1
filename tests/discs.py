"""Small images of discs, as files, and models that label them."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

import crbm

COLOURS = ((0, 0, 0), (200, 30, 30), (30, 30, 200))


def disc(rng, height, width, n_labels=2):
    """A colour image of a disc that is brighter in one channel, and its mask."""
    y, x = np.mgrid[:height, :width]
    middle = rng.uniform(0.35, 0.65, 2) * (height, width)
    inside = (y - middle[0]) ** 2 + (x - middle[1]) ** 2 < (min(height, width) / 4) ** 2
    label = rng.integers(1, n_labels)
    image = rng.normal(80, 15, (height, width, 3))
    image[inside, label - 1] += 120
    return image.clip(0, 255).astype(np.uint8), inside * label


def write_folder(folder, n_images, *, n_labels=2, largest=20, seed=0):
    """A folder with images/image-N.png and masks/mask-N.png of mixed sizes."""
    rng = np.random.default_rng(seed)
    for name in ("images", "masks"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    for place in range(n_images):
        size = rng.integers(12, largest + 1, 2)
        image, mask = disc(rng, *size, n_labels)
        Image.fromarray(image).save(folder / "images" / f"image-{place}.png")
        pixels = Image.fromarray((mask * (255 // (n_labels - 1))).astype(np.uint8))
        pixels.save(folder / "masks" / f"mask-{place}.png")
    return folder


def quick_classifier(**options):
    """A classifier that learns discs in a second or two."""
    settings = {"channels": (8,), "patch": 1, "n_hidden": 2, "n_epochs": 12}
    settings |= {"batch_size": 4, "learning_rate": 0.02, "random_state": 0}
    return crbm.PixelClassifier(**settings | {"augment": False} | options)


@pytest.fixture(scope="session")
def discs(tmp_path_factory):
    """A folder of images and masks."""
    return write_folder(tmp_path_factory.mktemp("discs"), 20)


@pytest.fixture(scope="session")
def disc_model(discs):
    """The file of a model of these images."""
    data = crbm.datasets.read_images(
        discs / "images", discs / "masks", names=["background", "disc"]
    )
    classifier = quick_classifier().fit(list(data.images), list(data.masks))
    described = {"name": "discs", "n_cases": 20, "labels": data.labels.as_dict()}
    classifier.describe(trained_on=described, examples=[data.images[0]])
    path = discs / "discs.safetensors"
    classifier.save(path)
    return path
