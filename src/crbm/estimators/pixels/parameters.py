"""The checks of the parameters of `PixelClassifier`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch import nn

from crbm import checks
from crbm.estimators.pixels import augmentation
from crbm.models import unet_versions

if TYPE_CHECKING:
    from crbm.estimators.pixels.classifier import PixelClassifier

PREDICTIONS = ("marginals", "mode")
MOST_HIDDEN = 256


def check(classifier: PixelClassifier) -> None:
    """Refuse wrong values, saying what is needed."""
    if not (
        classifier.network in ("unet", None)
        or isinstance(classifier.network, nn.Module)
        or callable(classifier.network)
    ):
        raise ValueError(
            "`network` must be 'unet', None, an nn.Module or a function that "
            f"makes one; got {classifier.network!r}."
        )
    for name in ("n_hidden", "n_hidden_channels", "n_epochs"):
        checks.whole_number(name, getattr(classifier, name), at_least=0)
    checks.whole_number("batch_size", classifier.batch_size, at_least=1)
    checks.positive("learning_rate", classifier.learning_rate)
    checks.one_of("prediction", classifier.prediction, PREDICTIONS)
    checks.one_of("precision", classifier.precision, unet_versions.PRECISIONS)
    if classifier.n_labels is not None:
        checks.whole_number("n_labels", classifier.n_labels, at_least=2)
    if classifier.n_hidden == 1 or classifier.n_hidden > MOST_HIDDEN:
        raise ValueError(
            "The values of the hidden unit are summed out: `n_hidden` must be 0, "
            f"or from 2 to {MOST_HIDDEN}; got {classifier.n_hidden}."
        )
    augmentation.choose(classifier.augment)
    if classifier.mirror and classifier.n_hidden_channels:
        raise ValueError(
            "`mirror` needs `n_hidden_channels`=0, so that all is exact; got "
            f"{classifier.n_hidden_channels}."
        )
