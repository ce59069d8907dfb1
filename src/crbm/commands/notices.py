"""What a user should know about the data and the model, one line each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from crbm.commands.assessment import MOST_COMMON, REGRESSION, Assessment

# Below these, errors and labels are estimated from very little.
FEW_ROWS, FEW_HELD_OUT_LABELS = 100, 50
MOST_NAMES = 10
# A coupling below this changes odds by less than five percent.
NEGLIGIBLE_COUPLING = 0.05


def about_data(Y: np.ndarray, names: Sequence[str]) -> list[str]:
    """Notices about the training labels."""
    found = []
    if len(Y) < FEW_ROWS:
        found.append(
            f"There are only {len(Y)} rows; the model and the errors are uncertain."
        )
    for value, word in ((0, "never"), (1, "always")):
        constant = [
            name
            for name, y in zip(names, Y.T, strict=True)
            if (y[~np.isnan(y)] == value).all()
        ]
        if constant:
            found.append(
                f"{word.capitalize()} present in training, so nothing can be learned "
                f"about: {listed(constant)}."
            )
    return found


def about_predictions(assessment: Assessment, names: Sequence[str]) -> list[str]:
    """Notices about the predictions of held-out rows."""
    truth, found = assessment.truth, []
    labels = assessment.answers[assessment.model].labels
    missed = ((truth == 1).sum(0) > 0) & ~labels.any(0)
    if missed.any():
        never = [name for name, m in zip(names, missed, strict=True) if m]
        found.append(
            "Never predicted for the held-out rows, although present there: "
            f'{listed(never)}. `class_weight="balanced"` or `--metric macro_f1` '
            "favours rare labels."
        )
    scores = assessment.scores()
    own = scores.pop(assessment.model)
    for name in (MOST_COMMON, REGRESSION):
        if name in scores and own["label_log_loss"] > scores[name]["label_log_loss"]:
            found.append(
                f"The model's log loss is not below that of the {name}: train it "
                "longer, or try another kind of model."
            )
            break
    return found


def about_couplings(strength: np.ndarray) -> list[str]:
    """A notice where the labels hardly influence each other."""
    largest = float(np.abs(strength).max(initial=0.0))
    if largest >= NEGLIGIBLE_COUPLING:
        return []
    return [
        f"The couplings are negligible: the largest log odds ratio is {largest:.2g}. "
        "The hidden units have hardly been trained; train longer, or with a larger "
        "`learning_rate` or `init_scale`."
    ]


def about_training_data(trained_on: dict[str, Any], these: dict[str, str]) -> list[str]:
    """A notice where a model is measured on the rows that it learned from.

    Both describe rows as `commands.data.identity` does.
    """
    key = "sha256" if "sha256" in these else "name"
    same_source = key in trained_on and trained_on[key] == these[key]
    parts = {trained_on.get("part"), these["part"]}
    if not same_source or None in parts or (len(parts) == 2 and "all" not in parts):
        return []
    return [
        "The model was trained on these rows, so the measures are too good. Measure "
        "it on rows that it has not seen."
    ]


def listed(names: Sequence[str]) -> str:
    """Names in one line, the first `MOST_NAMES` of them."""
    more = len(names) - MOST_NAMES
    text = ", ".join(f"`{name}`" for name in names[:MOST_NAMES])
    return f"{text} and {more} more" if more > 0 else text
