"""Load data sets by name, read your own files, add noise, make folds, scale inputs."""

from crbm.datasets.dataset import Dataset
from crbm.datasets.files import read, write
from crbm.datasets.locate import DataNotFoundError
from crbm.datasets.named import available, fetch, load
from crbm.datasets.noise import binarise, denoising, flip_pixels, occlude
from crbm.datasets.registry import describe, names
from crbm.datasets.splits import Fold, folds
from crbm.preprocessing import pipeline

__all__ = [
    "DataNotFoundError",
    "Dataset",
    "Fold",
    "available",
    "binarise",
    "denoising",
    "describe",
    "fetch",
    "flip_pixels",
    "folds",
    "load",
    "names",
    "occlude",
    "pipeline",
    "read",
    "write",
]
