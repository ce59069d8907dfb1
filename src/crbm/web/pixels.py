"""Serve models that label the pixels of images."""

from __future__ import annotations

import asyncio
import base64
import binascii
import io
from dataclasses import dataclass
from functools import partial

import numpy as np
from PIL import Image

from crbm.commands.pixels.model import label_image, labels_of
from crbm.datasets import MaskLabels
from crbm.datasets.images.decoding import decode
from crbm.estimators import PixelClassifier
from crbm.estimators.pixels.files import description
from crbm.web.prediction import InputError
from crbm.web.schemas import ImageExamples, ImageLabel, ImageLabels, ModelInfo

MOST_PIXELS = 2**21  # of an image in a request
FORMATS = ("PNG", "JPEG", "WEBP", "BMP")
UNKNOWN = 255  # in images of known labels


@dataclass(frozen=True)
class PixelModel:
    """A fitted classifier of pixels and the name under which it is served."""

    name: str
    classifier: PixelClassifier

    def info(self) -> ModelInfo:
        """Describe the model."""
        described = description(self.classifier)
        labels = labels_of(self.classifier)
        return ModelInfo(
            name=self.name,
            kind=described["class"],
            n_inputs=self.classifier.n_channels_,
            n_labels=len(labels),
            label_names=list(labels.names),
            input_names=None,
            columns=None,
            image_shape=None,
            n_examples=len(self.example_images()),
            parameters={
                name: value
                for name, value in described["parameters"].items()
                if not isinstance(value, list)
            },
            colours=[hex_colour(colour) for colour in shown_colours(labels)],
        )

    def example_images(self) -> list[np.ndarray]:
        """The images that the model file keeps."""
        return getattr(self.classifier, "examples_", [])

    def examples(self) -> ImageExamples:
        """These images as PNG files."""
        return ImageExamples(images=[to_png(_bytes(i)) for i in self.example_images()])

    def check(self) -> None:
        """Label an empty image once, so that a bad file fails at the start."""
        channels = self.classifier.n_channels_
        self.info()
        self.classifier.predict([np.zeros((8, 8, channels), dtype=np.float32)])


class PixelWorker:
    """Labels images with one model in a thread, beside the event loop."""

    def __init__(self, model: PixelModel, pool: object) -> None:
        self.model, self._pool = model, pool

    async def label(
        self, image: str, known: str | None, n_samples: int, seed: int
    ) -> ImageLabels:
        """Label an image; both images are base64."""
        call = partial(
            answer, self.model.classifier, image, known, n_samples=n_samples, seed=seed
        )
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._pool, call)  # type: ignore[arg-type]


def answer(
    classifier: PixelClassifier,
    image: str,
    known: str | None = None,
    *,
    n_samples: int = 0,
    seed: int = 0,
) -> ImageLabels:
    """Labels, uncertainty and samples of an image, as PNG files in base64."""
    pixels = parse_image(image, "image", colour=classifier.n_channels_ > 1)
    given = None if known is None else parse_known(classifier, known, pixels)
    found = label_image(classifier, pixels, proba=True, known=given)
    assert found.probability is not None
    samples = []
    if n_samples:
        ignored = None if given is None else [given]
        drawn = classifier.sample(
            [pixels], n=n_samples, known=ignored, random_state=seed
        )
        samples = [mask_png(mask) for mask in drawn[0]]
    labels = labels_of(classifier)
    unsure = 1 - found.probability.max(-1)
    scale = 255 / (1 - 1 / len(labels))
    return ImageLabels(
        width=pixels.shape[1],
        height=pixels.shape[0],
        mask=mask_png(found.mask),
        uncertainty=to_png(np.round(unsure * scale).clip(0, 255).astype(np.uint8)),
        samples=samples,
        labels=_legend(labels, found.mask),
        mean_uncertainty=float(unsure.mean()),
    )


def parse_image(text: str, field: str, *, colour: bool | None = None) -> np.ndarray:
    """The pixels of an image file in base64, perhaps as a data URL."""
    if text.startswith("data:"):
        text = text.partition(",")[2]
    try:
        content = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise InputError(f"`{field}` must be an image file in base64.") from error
    stream = io.BytesIO(content)
    try:
        return decode(
            stream, field, colour=colour, max_pixels=MOST_PIXELS, formats=FORMATS
        )
    except ValueError as error:
        raise InputError(str(error)) from error


def parse_known(
    classifier: PixelClassifier, text: str, image: np.ndarray
) -> np.ndarray | None:
    """Known labels from a grey image of the same size; 255 is not known."""
    values = parse_image(text, "known", colour=False)
    if values.shape != image.shape[:2]:
        raise InputError(
            f"`known` must be as large as `image`, {image.shape[1]} x "
            f"{image.shape[0]}; it is {values.shape[1]} x {values.shape[0]}."
        )
    unknown = values == UNKNOWN
    if unknown.all():
        return None
    largest = int(values[~unknown].max())
    if largest >= classifier.n_labels_:
        raise InputError(
            f"`known` must hold labels from 0 to {classifier.n_labels_ - 1}, or 255 "
            f"where a label is not known; it holds {largest}."
        )
    return np.where(unknown, classifier.ignore, values.astype(np.int64))


def mask_png(mask: np.ndarray) -> str:
    """A mask as a grey PNG file in base64 that holds the labels."""
    return to_png(mask.astype(np.uint8))


def to_png(pixels: np.ndarray) -> str:
    """An image as a PNG file in base64."""
    stream = io.BytesIO()
    Image.fromarray(pixels).save(stream, format="PNG")
    return base64.b64encode(stream.getvalue()).decode()


def shown_colours(labels: MaskLabels) -> list[tuple[int, int, int]]:
    """The colours of the labels; two labels are shown as nothing and orange."""
    is_plain = labels.colours == ((0, 0, 0), (255, 255, 255))
    return [(0, 0, 0), (255, 128, 0)] if is_plain else list(labels.colours)


def hex_colour(colour: tuple[int, int, int]) -> str:
    """A colour for a style sheet.

    Examples
    --------
    >>> hex_colour((255, 128, 0))
    '#ff8000'
    """
    return "#{:02x}{:02x}{:02x}".format(*colour)


def _legend(labels: MaskLabels, mask: np.ndarray) -> list[ImageLabel]:
    counts = np.bincount(mask.ravel(), minlength=len(labels)) / mask.size
    colours = shown_colours(labels)
    return [
        ImageLabel(name=name, colour=hex_colour(colours[k]), share=float(counts[k]))
        for k, name in enumerate(labels.names)
    ]


def _bytes(image: np.ndarray) -> np.ndarray:
    return image if image.dtype == np.uint8 else image.clip(0, 255).astype(np.uint8)
