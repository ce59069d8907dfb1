"""Turn requests into cases, or into an error message of one line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from crbm.estimators import StructuredClassifier
from crbm.web.prediction import Case

KnownLabels = Sequence[int | None] | Mapping[str, int | None] | None


class InputError(ValueError):
    """Invalid input, described in one line."""


def case(
    classifier: StructuredClassifier, u: Sequence[float], known: KnownLabels
) -> Case:
    """Parse one case and check its sizes."""
    n_inputs = classifier.n_features_in_
    if len(u) != n_inputs:
        raise InputError(f"`input` needs {n_inputs} numbers; got {len(u)}.")
    return Case(np.asarray(u, dtype=float), _parse_known(classifier, known))


def cases(
    classifier: StructuredClassifier,
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


def first_problem(errors: Sequence[Mapping[str, Any]]) -> str:
    """Pydantic's first error as one line, without the input itself."""
    error = errors[0]
    where = [str(part) for part in error["loc"]]
    if len(where) > 1:
        where.pop(0)  # the word "body"
    if error["type"] == "json_invalid":
        return f"The body is not JSON: {error['ctx']['error']}."
    if where and where[0] == "known":
        return (
            "`known` must be 0, 1 or null for each label, as a list or by name; see "
            "/openapi.json."
        )
    what = error["msg"].removeprefix("Value error, ")
    place = "".join([f"`{where[0]}`", *(f"[{part}]" for part in where[1:])])
    line = f"{place}: {what}."
    more = len(errors) - 1
    return f"{line} {more} more like this." if more else line


def _parse_known(
    classifier: StructuredClassifier, known: KnownLabels
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
