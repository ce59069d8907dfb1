"""Read a folder or an NPZ file of images, with or without masks."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from crbm.datasets.dataset import Array, Dataset
from crbm.datasets.formats import npz
from crbm.datasets.formats._common import file_error, file_name
from crbm.datasets.images.dataset import ImageDataset, ImageFiles, MaskFiles
from crbm.datasets.images.decoding import Header, read_header
from crbm.datasets.images.labels import MOST_LABELS, MaskLabels
from crbm.datasets.images.masks import find_labels
from crbm.datasets.images.matching import image_files, match


def read_images(
    path: Path | str,
    masks: Path | str | None = None,
    *,
    names: Sequence[str] | None = None,
    labels: MaskLabels | None = None,
    threshold: int | None = None,
    colour: bool | None = None,
) -> ImageDataset:
    """Read images, and the masks that label their pixels.

    Sizes and names are checked at once; the pixels of an image are read when they are
    asked for.

    Parameters
    ----------
    path
        A folder of PNG, JPEG, TIFF, BMP or WebP files of any sizes, or an NPZ file with
        the array `images` (n, height, width[, 3]) and perhaps `masks` (n, height,
        width).
    masks
        A folder with a mask for each image, of the same size. Files are matched by
        name: `7.jpg` with `7.png`, `image-7.png` with `mask-7.png`, `7.png` with
        `7_labels.png`.
    names
        Names of the labels, in the order of the values in the masks.
    labels
        The labels that masks may hold, e.g. those of a trained model; by default all
        values that occur.
    threshold
        For masks that are grey images, such as clean versions of noisy images: values
        above it are label 1, the others 0.
    colour
        True to read all images in colour, False for grey; by default in colour if any
        of them has colours.

    Returns
    -------
    ImageDataset
        Its `images` and `masks` are what `PixelClassifier.fit` takes.

    Raises
    ------
    ValueError
        If files are damaged, have no partner, or differ in size from it.

    Examples
    --------
    >>> import tempfile
    >>> from PIL import Image
    >>> folder = Path(tempfile.mkdtemp())
    >>> for name, value in {"photos/a.png": 90, "masks/a_mask.png": 255}.items():
    ...     (folder / name).parent.mkdir()
    ...     Image.new("L", (4, 3), value).save(folder / name)
    >>> data = read_images(folder / "photos", folder / "masks")
    >>> data.images[0].shape, data.labels.values, data.files
    ((3, 4), (255,), ('a.png',))
    """
    path = Path(path)
    if path.is_file():
        if masks is not None:
            raise ValueError(
                f"`{path}` is a file: it must hold the masks as an array `masks`. "
                "A folder of masks goes with a folder of images."
            )
        return _read_npz(path, names, labels, threshold)
    files = image_files(path)
    headers = [read_header(file) for file in files]
    if colour is None:
        colour = any(header.is_colour for header in headers)
    images = ImageFiles(files, colour=colour)
    named = tuple(file.name for file in files)
    if masks is None:
        return ImageDataset(images=images, files=named, name=path.name)
    partners = match(files, image_files(Path(masks)))
    for file, header, partner in zip(files, headers, partners, strict=True):
        _check_size(file, header, partner)
    if labels is None:
        labels = find_labels(partners, names=names, threshold=threshold)
    found = MaskFiles(partners, labels)
    return ImageDataset(
        images=images, masks=found, labels=labels, files=named, name=path.name
    )


def as_images(data: Dataset) -> ImageDataset:
    """A data set whose rows are images and masks, such as `horses`, as images.

    Examples
    --------
    >>> rows = np.zeros((2, 6), dtype=np.uint8)
    >>> data = Dataset(X=rows, Y=rows, input_shape=(2, 3), output_shape=(2, 3))
    >>> as_images(data).masks.shape
    (2, 2, 3)
    """
    if data.input_shape is None or data.output_shape is None:
        raise ValueError(
            f"The rows of `{data.name}` are not images with masks; give a folder of "
            "images and --masks."
        )
    return ImageDataset(
        images=data.X.reshape(len(data), *data.input_shape),
        masks=data.Y.reshape(len(data), *data.output_shape),
        labels=MaskLabels.of_values([0, 1]),
        **{
            key: getattr(data, key) for key in ("name", "splits", "licence", "citation")
        },
        source=data.source,
    )


def _check_size(file: Path, header: Header, partner: Path) -> None:
    mask = read_header(partner)
    if (mask.height, mask.width) != (header.height, header.width):
        raise ValueError(
            f"`{file}` is {header.width} x {header.height} pixels and its mask "
            f"`{partner}` is {mask.width} x {mask.height}; they must be of one size."
        )


def is_image_npz(path: Path) -> bool:
    """Whether an NPZ file holds an array `images`."""
    try:
        with zipfile.ZipFile(path) as archive:
            return "images.npy" in archive.namelist()
    except (zipfile.BadZipFile, NotImplementedError, ValueError, OSError):
        return False


def _read_npz(
    path: Path,
    names: Sequence[str] | None,
    labels: MaskLabels | None,
    threshold: int | None,
) -> ImageDataset:
    arrays = npz.read_arrays(path)
    images = _npz_images(path, arrays)
    if "masks" not in arrays:
        return ImageDataset(images=images, name=file_name(path))
    masks = arrays["masks"]
    if masks.shape != images.shape[:3] or masks.dtype.kind not in "biu":
        problem = (
            f"whole numbers of shape {images.shape[:3]} are needed, one per pixel of "
            f"`images`; got {masks.dtype} of shape {masks.shape}."
        )
        raise file_error(path, problem, member="masks")
    if labels is None:
        labels = _npz_labels(path, masks, threshold)
        labels = labels if names is None else labels.with_names(names)
    try:
        masks = labels.encode(masks)
    except ValueError as error:
        raise file_error(path, str(error), member="masks") from error
    return ImageDataset(images=images, masks=masks, labels=labels, name=file_name(path))


def _npz_images(path: Path, arrays: Mapping[str, Array]) -> Array:
    if "images" not in arrays:
        known = ", ".join(f"`{name}`" for name in list(arrays)[:5]) or "nothing"
        raise file_error(path, f"there is no array `images`, but {known}.")
    images = arrays["images"]
    is_shaped = images.ndim == 3 or (images.ndim == 4 and images.shape[-1] in (1, 3))
    is_float = images.dtype.kind == "f"
    if not (is_shaped and len(images) and (images.dtype == np.uint8 or is_float)):
        problem = (
            "uint8 or floats of shape (n, height, width) or (n, "
            f"height, width, 3) are needed; got {images.dtype} of shape "
            f"{images.shape}. Images of different sizes go into a folder."
        )
        raise file_error(path, problem, member="images")
    if is_float and not np.isfinite(images).all():
        raise file_error(path, "holds NaN or infinity.", member="images")
    return images


def _npz_labels(path: Path, masks: Array, threshold: int | None) -> MaskLabels:
    if threshold is not None:
        return MaskLabels.of_values([0, 255], threshold=threshold)
    values = np.unique(masks).tolist()
    if len(values) > MOST_LABELS:
        problem = f"{len(values)} different values are too many for labels."
        raise file_error(path, problem, member="masks")
    return MaskLabels.of_values([int(value) for value in values])
