"""Turn requests into cases, or into an error message of one line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any

import numpy as np
from jaxtyping import Float

from crbm.estimators import LabelSetClassifier
from crbm.estimators.inputs import column_names
from crbm.web.prediction import Case, InputError

LARGEST = float(np.finfo(np.float32).max)
NUMBERS = {int, float, type(None)}
Row = Sequence[float | None] | Mapping[str, Any]
KnownLabels = Sequence[int | None] | Mapping[str, int | None] | None


def case(classifier: LabelSetClassifier, u: Row, known: KnownLabels) -> Case:
    """Parse one case and check its sizes and names."""
    return Case(_parse_input(classifier, u), _parse_known(classifier, known))


def cases(
    classifier: LabelSetClassifier,
    inputs: Sequence[Row],
    known: Sequence[KnownLabels] | None,
) -> list[Case]:
    """Parse the cases of a batch."""
    if known is None:
        known = [None] * len(inputs)
    if len(known) != len(inputs):
        raise InputError(
            f"`known` needs one entry per input; got {len(known)} for {len(inputs)}."
        )
    parsed = []
    for place, pair in enumerate(zip(inputs, known, strict=True)):
        try:
            parsed.append(case(classifier, *pair))
        except InputError as error:
            raise InputError(f"Case {place}: {error}") from error
    return parsed


def _parse_input(
    classifier: LabelSetClassifier, u: Row
) -> Float[np.ndarray, " inputs"] | dict[str, Any]:
    """The columns by name for a model of a table, or else the numbers in order."""
    names = column_names(classifier)
    is_table = hasattr(classifier, "encoder_")
    if isinstance(u, Mapping):
        if names is None:
            raise InputError("`input` must be a list: the model has no column names.")
        u = _check_record(classifier, u, names)
        if is_table:
            return u
        u = [u.get(name) for name in names]
    elif is_table:
        raise InputError(f"`input` must be an object with {_listed(names or [])}.")
    return _parse_row(classifier, u)


def _parse_row(
    classifier: LabelSetClassifier, u: Sequence[Any]
) -> Float[np.ndarray, " inputs"]:
    n_inputs = classifier.n_features_in_
    if len(u) != n_inputs:
        raise InputError(f"`input` needs {n_inputs} numbers; got {len(u)}.")
    kinds = set(
        map(type, u)
    )  # a loop over the numbers would take longer than the model
    if not kinds <= NUMBERS:
        wrong = next(value for value in u if type(value) not in NUMBERS)
        raise InputError(f"`input` must hold numbers, not {wrong!r:.60}.")
    values = np.array(u, dtype=float)  # None becomes NaN
    check_range(classifier, values)
    return values


def _check_record(
    classifier: LabelSetClassifier, record: Mapping[str, Any], names: Sequence[str]
) -> dict[str, Any]:
    """The columns that the model needs, if all names and values are sound.

    Missing ones may lack, and those that training left out, such as ids, may be there.
    """
    found = getattr(getattr(classifier, "encoder_", None), "recognised_", names)
    dropped = getattr(classifier, "trained_on_", {}).get("dropped", ())
    known = {*found, *dropped}
    for name, value in record.items():
        if name not in known:
            raise InputError(_no_column(classifier, name, names))
        if name not in names:
            continue
        is_plain = value is None or isinstance(value, str | bool | int | float)
        if not is_plain or not _is_finite(value):
            raise InputError(
                f"`input`: column `{name}` must be a finite number, a text, true, "
                "false or null."
            )
    return {name: value for name, value in record.items() if name in names}


def _no_column(classifier: LabelSetClassifier, name: str, names: Sequence[str]) -> str:
    if name in (classifier.label_names_ or ()):
        return f"`{name[:80]}` is a label. If it is known, put it into `known`."
    near = get_close_matches(name[:80], names, n=1)
    hint = f"Did you mean `{near[0]}`?" if near else f"It has {_listed(names)}."
    return f"The model has no column `{name[:80]}`. {hint}"


def _is_finite(value: Any) -> bool:
    is_number = isinstance(value, int | float)
    return not is_number or abs(value) <= LARGEST  # never true of NaN


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    return "the columns " + ", ".join(f"`{name}`" for name in names[:5]) + more


def check_range(
    classifier: LabelSetClassifier, values: Float[np.ndarray, " inputs"]
) -> None:
    """Refuse values that a model of float32 weights turns into infinity."""
    if np.abs(values).max(initial=0) <= LARGEST:  # false if there is a NaN
        return
    outside = np.flatnonzero(np.abs(values) > LARGEST)
    if len(outside):
        place = outside[0]
        raise InputError(
            f"`input`[{place}]: {values[place]:g} overflows; values must be between "
            f"-{LARGEST:.2g} and {LARGEST:.2g}. Scale them as in training."
        )
    if np.isnan(values).any() and not hasattr(classifier, "missing_"):
        raise InputError("`input` has missing values, which the model does not know.")


def _parse_known(
    classifier: LabelSetClassifier, known: KnownLabels
) -> Float[np.ndarray, " labels"] | None:
    """Known labels as an array with NaN for the others, or None if none is known."""
    if isinstance(known, Mapping):
        known = _order_by_label(classifier.label_names_, known)
    if known is None:
        return None
    if len(known) != classifier.n_labels_:
        raise InputError(
            f"`known` needs {classifier.n_labels_} entries, one per label, null where "
            f"a label is not known; got {len(known)}."
        )
    values = np.array([np.nan if value is None else float(value) for value in known])
    return None if np.isnan(values).all() else values


def _order_by_label(
    names: Sequence[str], known: Mapping[str, int | None]
) -> list[int | None]:
    unknown = [name for name in known if name not in set(names)]
    if unknown:
        listed = ", ".join(f"`{name}`" for name in names[:5])
        more = ", ..." if len(names) > 5 else ""
        raise InputError(
            f"There is no label `{unknown[0][:80]}`; the labels are {listed}{more}."
        )
    return [known.get(name) for name in names]
