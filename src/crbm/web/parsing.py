"""Turn requests into cases, or into an error message of one line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Float

from crbm.estimators import LabelSetClassifier
from crbm.web.prediction import Case

LARGEST = float(np.finfo(np.float32).max)
KnownLabels = Sequence[int | None] | Mapping[str, int | None] | None


class InputError(ValueError):
    """Invalid input, described in one line."""


def case(
    classifier: LabelSetClassifier, u: Sequence[float], known: KnownLabels
) -> Case:
    """Parse one case and check its sizes."""
    n_inputs = classifier.n_features_in_
    if len(u) != n_inputs:
        raise InputError(f"`input` needs {n_inputs} numbers; got {len(u)}.")
    values = np.asarray(u, dtype=float)
    _check_range(values)
    return Case(values, _parse_known(classifier, known))


def cases(
    classifier: LabelSetClassifier,
    inputs: Sequence[Sequence[float]],
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


def _check_range(values: Float[np.ndarray, " inputs"]) -> None:
    """Refuse values that a model of float32 weights turns into infinity."""
    outside = np.flatnonzero(np.abs(values) > LARGEST)
    if len(outside):
        place = outside[0]
        raise InputError(
            f"`input`[{place}]: {values[place]:g} overflows; values must be between "
            f"-{LARGEST:.2g} and {LARGEST:.2g}. Scale them as in training."
        )


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
