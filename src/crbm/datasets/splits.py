"""Cross-validation folds of 80 % train, 10 % validation, 10 % test, as in the paper."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import sparse
from sklearn.model_selection import GroupKFold, KFold

from crbm.datasets.dataset import Array, Dataset, Matrix
from crbm.stratification import stratified_blocks


class Fold(NamedTuple):
    """Sorted row numbers of the train, validation and test parts."""

    train: Array
    valid: Array
    test: Array


def folds(
    data: Dataset | Matrix | int,
    n_folds: int = 10,
    *,
    seed: int = 0,
    groups: Array | None = None,
    stratify: bool = False,
) -> list[Fold]:
    """Folds in which every case is tested once and validated once.

    The cases are shuffled and cut into `n_folds` blocks; fold k tests on block k,
    validates on block k + 1 and trains on the rest. The folds depend only on the
    number of cases, the groups and `seed` (and the labels with `stratify`), so that all
    models see the same ones.

    Parameters
    ----------
    data
        A data set, a matrix of labels, or a number of cases.
    n_folds
        Number of folds, at least 3.
    seed
        Seed of the shuffle.
    groups
        One value per case. Cases of one group stay in one block, and the blocks are
        as even as the groups allow. By default the groups of the data set.
    stratify
        Give each block about equally many cases of each label. Block sizes may then
        differ by a few cases; see `crbm.stratification.stratified_blocks`.

    Examples
    --------
    >>> [len(part) for part in folds(50)[0]]
    [40, 5, 5]
    >>> Y = np.repeat([[1, 0], [0, 1]], [3, 27], axis=0)  # the first label is rare
    >>> [int(Y[fold.test, 0].sum()) for fold in folds(Y, 3, stratify=True)]
    [1, 1, 1]
    """
    n_rows = data if isinstance(data, int) else _n_cases(data)
    if groups is None and isinstance(data, Dataset):
        groups = data.groups
    _check(n_rows, n_folds, groups)
    if stratify:
        blocks = _stratified_blocks(data, n_folds, seed, groups)
    else:
        blocks = _blocks(n_rows, n_folds, seed, groups)
    everything = np.arange(n_rows)
    result = []
    for k, test in enumerate(blocks):
        valid = blocks[(k + 1) % n_folds]
        train = np.setdiff1d(everything, np.concatenate([valid, test]))
        result.append(Fold(train, valid, test))
    return result


def _blocks(n_rows: int, n_folds: int, seed: int, groups: Array | None) -> list[Array]:
    rows = np.zeros(n_rows)
    if groups is None:
        splitter = KFold(n_folds, shuffle=True, random_state=seed)
        return [test for _, test in splitter.split(rows)]
    # GroupKFold balances sizes but has no seed: it breaks ties by the order of the
    # groups, so renaming the groups at random shuffles them.
    values, codes = np.unique(groups, return_inverse=True)
    renamed = np.random.default_rng(seed).permutation(len(values))[codes]
    return [test for _, test in GroupKFold(n_folds).split(rows, groups=renamed)]


def _n_cases(data: Dataset | Matrix) -> int:
    return len(data) if isinstance(data, Dataset) else data.shape[0]


def _stratified_blocks(
    data: Dataset | Matrix | int, n_folds: int, seed: int, groups: Array | None
) -> list[Array]:
    if isinstance(data, int):
        raise ValueError(
            "`stratify` needs labels; give the data set or its label matrix instead of "
            "a number of rows."
        )
    Y = data.Y if isinstance(data, Dataset) else data
    Y = Y.toarray() if sparse.issparse(Y) else np.asarray(Y)
    codes = None if groups is None else np.unique(groups, return_inverse=True)[1]
    block = stratified_blocks(Y, n_folds, seed=seed, groups=codes)
    return [np.flatnonzero(block == place) for place in range(n_folds)]


def _check(n_rows: int, n_folds: int, groups: Array | None) -> None:
    if n_folds < 3:
        raise ValueError(f"`n_folds` must be at least 3, not {n_folds}.")
    units = n_rows if groups is None else len(np.unique(groups))
    if groups is not None and len(groups) != n_rows:
        raise ValueError(f"`groups` has {len(groups)} values for {n_rows} rows.")
    if units < n_folds:
        what = "rows" if groups is None else "groups"
        raise ValueError(
            f"{n_folds} folds need at least {n_folds} {what}; there are {units}."
        )
