"""Build each named data set from its files, one function per source."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from string import ascii_lowercase

import numpy as np
from scipy.io import loadmat
from scipy.io.arff import loadarff
from scipy.sparse import csr_array, issparse, vstack

from crbm.datasets import embedded
from crbm.datasets.dataset import Array, Dataset, Matrix
from crbm.datasets.formats import arff, idx, libsvm, npz
from crbm.datasets.formats._common import file_error
from crbm.datasets.images.dataset import ImageDataset
from crbm.datasets.images.labels import MaskLabels
from crbm.datasets.images.reading import read_images
from crbm.preprocessing import Table
from crbm.preprocessing.table import to_column

_PARTS = ("train", "valid", "test")
_ROWS = {"majmin": (1587, 471, 480), "mturk": (597, 123, 195)}
_N_TAGS = {"majmin": 96, "mturk": 95}
_N_TAG_INPUTS = 389
_CAMVID = {  # the labels of the SegNet tutorial in its order and colours
    "sky": (128, 128, 128),
    "building": (128, 0, 0),
    "pole": (192, 192, 128),
    "road": (128, 64, 128),
    "pavement": (60, 40, 222),
    "tree": (128, 128, 0),
    "sign": (192, 128, 128),
    "fence": (64, 64, 128),
    "car": (64, 0, 128),
    "pedestrian": (64, 64, 0),
    "bicyclist": (0, 128, 192),
    "unlabelled": (0, 0, 0),
}
N_TARGETS = {"enb": 2, "jura": 3, "scpf": 3, "sf2": 3, "wq": 14, "oes97": 16}


def mulan(files: list[Path], n_labels: int) -> Dataset:
    """A data set of Mulan: one ARFF file, or one for train and one for test.

    The labels are the last attributes, so Mulan's XML files are not needed.
    """
    parts = [arff.read(file, -n_labels) for file in files]
    return parts[0] if len(parts) == 1 else _stack(parts, ("train", "test"))


def yeast(files: list[Path]) -> Dataset:
    """The yeast data, from Mulan's file or from the table in river."""
    if files[0].suffix == ".gz":
        return embedded.yeast(files[0])
    return mulan(files, n_labels=14)


def delicious(files: list[Path]) -> Dataset:
    """The delicious data, with sparse inputs."""
    if len(files) == 2:
        return mulan(files, n_labels=983)
    arrays = npz.read_arrays(files[0])
    split = arrays["split"]
    return Dataset(
        X=csr_array(arrays["X"]).astype(np.float32),
        Y=arrays["Y"],
        feature_names=tuple(map(str, arrays["feature_names"])),
        label_names=tuple(map(str, arrays["label_names"])),
        splits={
            "train": np.flatnonzero(split == 0),
            "test": np.flatnonzero(split == 1),
        },
    )


def tags(files: list[Path], name: str) -> Dataset:
    """MajMin or MTurk. They have no checksums, so their sizes are checked."""
    parts = []
    for file, n_rows in zip(files, _ROWS[name], strict=True):
        part = libsvm.read(file, n_features=_N_TAG_INPUTS, n_labels=_N_TAGS[name])
        if len(part) != n_rows:
            problem = f"{n_rows} rows are expected; the file has {len(part)}."
            raise file_error(file, f"{problem} Is it truncated?")
        parts.append(replace(part, X=part.X.toarray()))
    return _stack(parts, _PARTS)


def majorminer(files: list[Path]) -> Dataset:
    """The MajorMiner data; clips of one song form a group."""
    arrays = npz.read_arrays(files[0])
    return Dataset(
        X=arrays["X"],
        Y=arrays["Y"],
        feature_names=tuple(map(str, arrays["feature_names"])),
        label_names=tuple(map(str, arrays["label_names"])),
        groups=arrays["titles"],
    )


def horses(files: list[Path]) -> Dataset:
    """The Weizmann horses: colour images as inputs, masks as outputs."""
    arrays = npz.read_arrays(files[0])
    images, masks = arrays["images"], arrays["masks"]
    return Dataset(
        X=images.reshape(len(images), -1),
        Y=masks.reshape(len(masks), -1),
        input_shape=images.shape[1:],
        output_shape=masks.shape[1:],
    )


def horses_full(files: list[Path]) -> ImageDataset:
    """The Weizmann horses at their own sizes."""
    return read_images(*files, names=("background", "horse"))


def camvid(files: list[Path]) -> ImageDataset:
    """CamVid as arrays; the last label is for pixels that nobody labelled."""
    arrays = npz.read_arrays(files[0])
    parts = {"train": "train", "valid": "val", "test": "test"}
    images = [arrays[f"{part}_images"] for part in parts.values()]
    masks = [arrays[f"{part}_labels"] for part in parts.values()]
    bounds = np.cumsum([0, *map(len, images)]).tolist()
    return ImageDataset(
        images=np.concatenate(images),
        masks=np.concatenate(masks),
        labels=MaskLabels.of_values(
            range(len(_CAMVID)), colours=list(_CAMVID.values()), names=list(_CAMVID)
        ),
        splits=_consecutive_splits(tuple(parts), bounds),
    )


def mnist(files: list[Path]) -> Dataset:
    """MNIST as bytes, split into 50,000 train, 10,000 validation and 10,000 test."""
    train = idx.read(files[0], labels=files[1])
    test = idx.read(files[2], labels=files[3])
    X, Y = np.concatenate([train.X, test.X]), np.concatenate([train.Y, test.Y])
    bounds = (0, len(train) - 10_000, len(train), len(X))
    return Dataset(
        X=X,
        Y=Y,
        label_names=train.label_names,
        splits=_consecutive_splits(_PARTS, bounds),
        input_shape=train.input_shape,
    )


def letters(files: list[Path]) -> Dataset:
    """Handwritten words: the letters of a word form a group; ten folds of words."""
    arrays = npz.read_arrays(files[0])
    fold = arrays["fold"][arrays["word"]]
    return Dataset(
        X=np.unpackbits(arrays["pixels"], axis=1),
        Y=np.eye(26, dtype=np.uint8)[arrays["letter"]],
        label_names=tuple(ascii_lowercase),
        splits={
            f"fold{number}": np.flatnonzero(fold == number) for number in range(10)
        },
        groups=arrays["word"],
        input_shape=(16, 8),
    )


def mocap(files: list[Path]) -> Dataset:
    """Frames of motion capture, which are inputs and outputs; sequences are groups."""
    contents = loadmat(files[0])
    sequences = [np.asarray(part, np.float32) for part in contents["Motion"].flat]
    frames = np.concatenate(sequences)
    return Dataset(
        X=frames,
        Y=frames,
        groups=np.repeat(range(len(sequences)), [len(part) for part in sequences]),
        outputs="numbers",
    )


def multi_target(files: list[Path], n_targets: int) -> Dataset:
    """A data set of Mulan for regression; the targets are the last attributes."""
    records, meta = loadarff(files[0])
    names = meta.names()
    targets = names[-n_targets:]
    columns = {
        name: to_column(name, [_text_or_number(value) for value in records[name]])
        for name in names[:-n_targets]
    }
    return Dataset(
        X=Table.from_columns(columns),
        Y=np.column_stack([records[name] for name in targets]).astype(np.float64),
        feature_names=tuple(columns),
        label_names=tuple(targets),
        outputs="numbers",
    )


def _text_or_number(value: bytes | float) -> str | float:
    return value.decode() if isinstance(value, bytes) else float(value)


def _stack(parts: list[Dataset], names: tuple[str, ...]) -> Dataset:
    """One data set with all cases of the parts, which become its splits."""
    bounds = np.cumsum([0, *map(len, parts)]).tolist()
    return replace(
        parts[0],
        X=_concatenate(part.X for part in parts),
        Y=_concatenate(part.Y for part in parts),
        splits=_consecutive_splits(names, bounds),
    )


def _concatenate(matrices: Iterable[Matrix]) -> Matrix:
    stack = list(matrices)
    if issparse(stack[0]):
        return csr_array(vstack(stack, format="csr"))
    return np.concatenate(stack)


def _consecutive_splits(
    names: tuple[str, ...], bounds: Sequence[int]
) -> dict[str, Array]:
    ranges = zip(names, bounds[:-1], bounds[1:], strict=True)
    return {name: np.arange(start, stop) for name, start, stop in ranges}


LOADERS: dict[str, Callable[[list[Path]], Dataset | ImageDataset]] = {
    "yeast": yeast,
    "scene": partial(mulan, n_labels=6),
    "cal500": partial(mulan, n_labels=174),
    "bibtex": partial(mulan, n_labels=159),
    "tmc2007-500": partial(mulan, n_labels=22),
    "corel5k": partial(mulan, n_labels=374),
    "delicious": delicious,
    "majmin": partial(tags, name="majmin"),
    "mturk": partial(tags, name="mturk"),
    "majorminer": majorminer,
    "horses": horses,
    "horses-full": horses_full,
    "camvid": camvid,
    "mnist": mnist,
    "corrupted-mnist": mnist,
    "occluded-mnist": mnist,
    "letters": letters,
    "mocap": mocap,
    **{
        name: partial(multi_target, n_targets=n_targets)
        for name, n_targets in N_TARGETS.items()
    },
    "mnist-5k": lambda files: embedded.mnist_5k(files[0]),
}
