"""Load data sets by name, read files and images, add noise, make folds."""

from crbm.datasets.dataset import Dataset
from crbm.datasets.files import read, write
from crbm.datasets.images.dataset import ImageDataset
from crbm.datasets.images.decoding import read_image
from crbm.datasets.images.labels import MaskLabels
from crbm.datasets.images.masks import read_mask, write_mask
from crbm.datasets.images.reading import as_images, read_images
from crbm.datasets.locate import DataNotFoundError
from crbm.datasets.named import available, fetch, load
from crbm.datasets.noise import binarise, denoising, flip_pixels, occlude
from crbm.datasets.registry import describe, names
from crbm.datasets.splits import Fold, folds
from crbm.datasets.stored import open_rows, open_table
from crbm.datasets.windows import Windows, windows
from crbm.preprocessing import pipeline

__all__ = [
    "DataNotFoundError",
    "Dataset",
    "Fold",
    "ImageDataset",
    "MaskLabels",
    "Windows",
    "as_images",
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
    "open_rows",
    "open_table",
    "pipeline",
    "read",
    "read_image",
    "read_images",
    "read_mask",
    "windows",
    "write",
    "write_mask",
]
