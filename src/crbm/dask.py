"""Predictions for Dask arrays and data frames, a partition at a time.

Each partition is a task: workers predict side by side, none holds all rows, and when a
worker dies, Dask repeats only the partitions it had not delivered.
"""

from __future__ import annotations

from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np

try:
    import dask.array
    from dask.base import is_dask_collection
    from dask.delayed import delayed
except ImportError as error:
    raise ImportError(
        f"`crbm.dask` needs `{error.name}`. Install it with `pip install 'crbm[dask]'`."
    ) from error

from crbm.estimators import LabelSetClassifier, load


def predict(classifier: LabelSetClassifier | str | Path, X: Any) -> Any:
    """The labels of each case.

    Parameters
    ----------
    classifier
        A fitted classifier, or its file, which every worker must be able to read: each
        loads it once.
    X
        A `dask.array` of inputs, or a `dask.dataframe`. The result is of the same kind,
        with the same partitions and, of a frame, the same index.

    Examples
    --------
    >>> import crbm, dask.array as da
    >>> from sklearn.datasets import make_multilabel_classification
    >>> X, Y = make_multilabel_classification(random_state=0)
    >>> classifier = crbm.LogisticClassifier(random_state=0).fit(X, Y)
    >>> predict(classifier, da.from_array(X, chunks=(30, -1)))
    dask.array<predict, shape=(100, 5), dtype=int64, chunksize=(30, 5), \
chunktype=numpy.ndarray>
    """
    return _by_partition(_predict, classifier, X)


def predict_proba(classifier: LabelSetClassifier | str | Path, X: Any) -> Any:
    """p(v_i = 1 | u), one column per label; for classes one per class.

    The parameters are those of `predict`.
    """
    return _by_partition(_predict_proba, classifier, X)


def _predict(source: Any, X: Any) -> np.ndarray:
    classifier = _loaded(source)
    found = classifier.predict(X)
    return found if found.ndim == 2 else found[:, None]


def _predict_proba(source: Any, X: Any) -> np.ndarray:
    p: np.ndarray = _loaded(source).predict_with_proba(X)[1]
    return p


def _by_partition(work: Any, source: Any, X: Any) -> Any:
    if not is_dask_collection(X):
        raise TypeError(
            "`X` must be a dask array or a dask data frame; got "
            f"{type(X).__name__}. Call the classifier's own `predict` for it."
        )
    classifier = _loaded(source)
    names = list(classifier.label_names_)
    if work is _predict and classifier.columns_ is not None:
        names = list(classifier.columns_.names)
    if not isinstance(source, LabelSetClassifier):
        source = str(Path(source).resolve())
    example = work(source, _example(classifier, X))
    # as a task of its own, so that it travels once to each worker
    shared = delayed(source) if source is classifier else source
    if isinstance(X, dask.array.Array):
        return X.rechunk({1: -1}).map_blocks(
            partial(_on_block, work),
            shared,
            chunks=(X.chunks[0], (len(names),)),
            dtype=example.dtype,
            name=work.__name__.removeprefix("_"),
            meta=example[:0],
        )
    meta = _frame(example[:0], names, X._meta.index[:0])
    return X.map_partitions(partial(_on_frame, work, names), shared, meta=meta)


def _example(classifier: LabelSetClassifier, X: Any) -> Any:
    """One row of inputs, to learn the type of the answers from."""
    if isinstance(X, dask.array.Array):
        return np.zeros((1, X.shape[1]), dtype=X.dtype)
    return X._meta_nonempty.iloc[:1]


def _on_block(work: Any, block: np.ndarray, source: Any) -> np.ndarray:
    found: np.ndarray = work(source, block)
    return found


def _on_frame(work: Any, names: list[str], frame: Any, source: Any) -> Any:
    if not len(frame):
        return _frame(np.empty((0, len(names))), names, frame.index)
    return _frame(work(source, frame), names, frame.index)


def _frame(values: np.ndarray, names: list[str], index: Any) -> Any:
    import pandas as pd

    return pd.DataFrame(values, columns=names, index=index)


def _loaded(source: Any) -> Any:
    return source if isinstance(source, LabelSetClassifier) else _load_once(str(source))


@lru_cache(maxsize=4)
def _load_once(path: str) -> Any:
    return load(path)
