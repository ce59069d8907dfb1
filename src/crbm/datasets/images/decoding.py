"""Decode an image file with Pillow. Every error is one line with the file's name."""

from __future__ import annotations

import io
import struct
import warnings
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from PIL import Image, ImageOps, UnidentifiedImageError

from crbm import paths
from crbm.datasets.dataset import Array
from crbm.datasets.formats._common import file_error

ENDINGS = (".png", ".jpg", ".jpeg", ".tif", ".tiff", ".bmp", ".webp")
FORMATS = ("PNG", "JPEG", "TIFF", "BMP", "WEBP")
MAX_PIXELS = 2**26  # of one image; a file of some kilobytes can claim many more
DEEP_GREY = ("I", "I;16", "I;16L", "I;16B", "I;16N")  # 16 bits per pixel
GREY = ("1", "L", "LA", "F", *DEEP_GREY)
COLOUR = ("P", "PA", "RGB", "RGBA", "RGBX", "CMYK", "YCbCr", "LAB", "HSV")
_ORIENTATION, _TURNED = 0x0112, (5, 6, 7, 8)  # the EXIF tag, and its quarter turns
_DAMAGE = (OSError, ValueError, SyntaxError, EOFError, struct.error, zlib.error)
_BUGS = (IndexError, KeyError, TypeError, AttributeError, OverflowError, MemoryError)


class Header(NamedTuple):
    """What is known of an image before its pixels are decoded."""

    height: int
    width: int
    mode: str

    @property
    def is_colour(self) -> bool:
        """Whether there is more than one channel."""
        return self.mode in COLOUR


def read_image(
    path: Path | str, *, colour: bool | None = None, max_pixels: int = MAX_PIXELS
) -> Array:
    """Read an image as an array (height, width) or (height, width, 3).

    PNG, JPEG, TIFF, BMP and WebP are read. Palettes become colours, transparent
    pixels are shown on white, and pictures of a turned camera are turned upright
    (EXIF). The result is uint8, or float32 between 0 and 255 where a pixel has 16 bits;
    the numbers of a TIFF file of floats are kept.

    Parameters
    ----------
    path
        The file.
    colour
        True for three channels, False for one; by default as in the file.
    max_pixels
        Larger images are refused before they are decoded.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "grey.png"
    >>> Image.fromarray(np.array([[0, 255]], dtype=np.uint8)).save(file)
    >>> read_image(file)
    array([[  0, 255]], dtype=uint8)
    """
    path = paths.require_file(path, "image")
    return decode(path, path, colour=colour, max_pixels=max_pixels)


def decode(
    source: Path | io.BytesIO,
    name: Path | str,
    *,
    colour: bool | None = None,
    max_pixels: int = MAX_PIXELS,
    formats: tuple[str, ...] = FORMATS,
) -> Array:
    """The pixels of an image file or stream; `name` is what errors call it."""
    with opening(source, name, max_pixels=max_pixels, formats=formats) as image:
        return _pixels(ImageOps.exif_transpose(image), name, colour)


def read_header(path: Path) -> Header:
    """Size and mode of an image, without decoding its pixels."""
    with opening(path, path) as image:
        width, height = image.size
        if _is_turned(image):
            width, height = height, width
        return Header(height, width, image.mode)


@contextmanager
def opening(
    source: Path | io.BytesIO,
    name: Path | str,
    *,
    max_pixels: int = MAX_PIXELS,
    formats: tuple[str, ...] = FORMATS,
) -> Iterator[Image.Image]:
    """A Pillow image of one frame and a known mode; errors name the file."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of odd metadata, and of sizes checked here
        try:
            with Image.open(source, formats=formats) as image:
                _check(image, name, max_pixels)
                yield image
        except UnidentifiedImageError as error:
            problem = "not an image that can be read (PNG, JPEG, TIFF, BMP, WebP)."
            raise file_error(name, problem) from error
        except Image.DecompressionBombError as error:
            raise _too_large(name, "too many", max_pixels) from error
        except (*_DAMAGE, *_BUGS) as error:
            if isinstance(error, ValueError) and f"`{name}`" in str(error):
                raise
            raise file_error(name, f"truncated or damaged ({error}).") from error


def _check(image: Image.Image, name: Path | str, max_pixels: int) -> None:
    width, height = image.size
    if width * height > max_pixels:
        raise _too_large(name, f"{width} x {height}", max_pixels)
    n_frames = getattr(image, "n_frames", 1)
    if n_frames > 1 and image.format != "MPO":  # a camera's JPEG with a preview
        problem = f"has {n_frames} frames; save each as a file of its own."
        raise file_error(name, problem)
    if image.mode not in (*GREY, *COLOUR):
        problem = f"unknown mode `{image.mode}`; save it as grey, RGB or palette PNG."
        raise file_error(name, problem)


def _too_large(name: Path | str, size: str, max_pixels: int) -> ValueError:
    problem = f"has {size} pixels; at most {max_pixels} are read. Make it smaller."
    return file_error(name, problem)


def _is_turned(image: Image.Image) -> bool:
    """Whether EXIF says that width and height are swapped.

    Of TIFF files Pillow gives the size of the upright image.
    """
    if image.format == "TIFF":
        return False
    if image.format == "PNG" and "exif" not in image.info:
        return False  # looking further would decode the pixels
    return image.getexif().get(_ORIENTATION) in _TURNED


def _pixels(image: Image.Image, name: Path | str, colour: bool | None) -> Array:
    if image.mode in ("F", *DEEP_GREY):
        grey = _deep_grey(image, name)
        return np.repeat(grey[..., None], 3, axis=-1) if colour else grey
    has_colour = image.mode in COLOUR
    if image.has_transparency_data:
        image = _on_white(image)
    wanted = has_colour if colour is None else colour
    if image.mode == "LAB":
        image = image.convert("RGB") if wanted else image.convert("RGB").convert("L")
    return np.array(image.convert("RGB" if wanted else "L"))


def _deep_grey(image: Image.Image, name: Path | str) -> Array:
    values = np.array(image)
    if image.mode == "F":
        if not np.isfinite(values).all():
            raise file_error(name, "holds NaN or infinity. Replace those pixels.")
        return values.astype(np.float32)
    if values.min() < 0 or values.max() > 0xFFFF:
        problem = (
            f"holds values from {values.min()} to {values.max()}; whole numbers must "
            "be between 0 and 65535."
        )
        raise file_error(name, problem)
    return (values / 257).astype(np.float32)  # 65535 becomes 255


def _on_white(image: Image.Image) -> Image.Image:
    image = image.convert("RGBA")
    white: Any = (255, 255, 255, 255)
    return Image.alpha_composite(Image.new("RGBA", image.size, white), image)
