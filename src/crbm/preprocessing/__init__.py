"""Encode tables, scale inputs and compute kernel features, fitted in training."""

from crbm.preprocessing.class_columns import ClassColumns
from crbm.preprocessing.missing import MissingValues
from crbm.preprocessing.pipelines import KINDS, check_gamma, pipeline
from crbm.preprocessing.preprocessor import Preprocessor
from crbm.preprocessing.table import Table
from crbm.preprocessing.table_encoder import TableEncoder, TableWarning

__all__ = [
    "KINDS",
    "ClassColumns",
    "MissingValues",
    "Preprocessor",
    "Table",
    "TableEncoder",
    "TableWarning",
    "check_gamma",
    "pipeline",
]
