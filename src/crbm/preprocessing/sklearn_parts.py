"""Objects of scikit-learn as tensors, by skops, which runs no code in files."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from sklearn.base import BaseEstimator
from sklearn.ensemble._hist_gradient_boosting.predictor import TreePredictor
from sklearn.tree._tree import Tree
from torch import Tensor

# Types without code that skops does not trust by itself; trees are checked here.
ALSO_TRUSTED = [
    "numpy.dtype",
    "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
    "sklearn.tree._tree.Tree",
]
INSTALL = "Run `pip install 'crbm[sklearn]'`."


def to_tensor(part: Any, what: str) -> Tensor:
    """The bytes of an object whose types skops trusts; `what` names it in errors.

    Examples
    --------
    >>> from sklearn.preprocessing import StandardScaler
    >>> stored = to_tensor(StandardScaler(with_mean=False), "the scaler")
    >>> from_tensor(stored, "the scaler")
    StandardScaler(with_mean=False)
    """
    skops = _skops(f"To save {what}")
    try:
        stored = skops.dumps(part)
    except Exception as error:  # of whatever kind foreign attributes lead to
        raise ValueError(
            f"{_capital(what)} cannot be stored: {error}. Keep the model in memory."
        ) from error
    unknown = _unknown(skops, stored)
    if unknown:
        raise ValueError(
            f"{_capital(what)} holds {_listed(unknown)}, which no file of "
            "crbm can hold, as reading it might run code. Use parts of scikit-learn "
            "and NumPy alone, or keep the model in memory."
        )
    return torch.from_numpy(np.frombuffer(stored, dtype=np.uint8).copy())


def from_tensor(stored: Tensor, what: str) -> Any:
    """The object that `to_tensor` stored; other types than trusted ones are refused."""
    skops = _skops(f"To read {what}")
    if stored.dtype != torch.uint8 or stored.ndim != 1:
        raise ValueError(f"{what} is not stored as bytes")
    data = stored.numpy().tobytes()
    try:
        unknown = _unknown(skops, data)
        if unknown:
            raise ValueError(f"{what} holds {_listed(unknown)}, which is not trusted")
        part = skops.loads(data, trusted=ALSO_TRUSTED)
        for tree in _trees(part):
            _check_tree(tree)
        return part
    except ValueError:
        raise
    except Exception as error:  # of whatever kind a damaged archive leads to
        raise ValueError(f"{what} cannot be read: {error}") from error


def _skops(purpose: str) -> Any:
    try:
        import skops.io
    except ImportError as error:
        raise ImportError(f"{purpose} takes skops. {INSTALL}") from error
    return skops.io


def _unknown(skops: Any, data: bytes) -> list[str]:
    return [
        name
        for name in skops.get_untrusted_types(data=data)
        if name not in ALSO_TRUSTED
    ]


def _capital(what: str) -> str:
    return what[0].upper() + what[1:]


def _listed(types: list[str]) -> str:
    more = f" and {len(types) - 3} more types" if len(types) > 3 else ""
    return ", ".join(f"`{name}`" for name in types[:3]) + more


def _trees(part: Any) -> Iterator[Any]:
    """All decision trees in an object and its parts."""
    if isinstance(part, Tree | TreePredictor):
        yield part
    elif isinstance(part, dict):
        for each in part.values():
            yield from _trees(each)
    elif isinstance(part, list | tuple | np.ndarray):
        if not isinstance(part, np.ndarray) or part.dtype == object:
            for each in part:
                yield from _trees(each)
    elif isinstance(part, BaseEstimator):
        yield from _trees(vars(part))


def _check_tree(tree: Any) -> None:
    """Refuse children and columns outside the tree, which would be read unchecked."""
    if isinstance(tree, Tree):
        left, right, columns = tree.children_left, tree.children_right, tree.feature
        inner = left != -1
        n_columns: int | None = tree.n_features
    else:
        nodes = tree.nodes
        left, right = nodes["left"].astype(int), nodes["right"].astype(int)
        columns, inner, n_columns = nodes["feature_idx"], nodes["is_leaf"] == 0, None
    places = np.arange(len(left))[inner]
    children = np.stack([left[inner], right[inner]])
    sound = (children > places).all() and (children < len(left)).all()
    sound &= bool((columns[inner] >= 0).all())
    if n_columns is not None:
        sound &= bool((columns[inner] < n_columns).all())
    if not sound or not len(left):
        raise ValueError("a decision tree refers to nodes that it does not have")
