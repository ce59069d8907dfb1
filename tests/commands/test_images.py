"""Whether the outputs of a classifier form an image."""

import numpy as np
import pytest

import crbm
from crbm.commands.images import image_shape


def fitted(n_inputs, n_labels):
    """A classifier with these numbers of inputs and labels."""
    classifier = crbm.LogisticClassifier(n_epochs=1, random_state=0)
    return classifier.fit(np.zeros((4, n_inputs)), np.eye(4, n_labels))


@pytest.mark.parametrize(
    ("n_inputs", "n_labels", "shape"),
    [(64, 64, (8, 8)), (63, 63, None), (16, 16, None), (100, 64, None)],
)
def test_large_square_outputs_of_restoring_models_are_images(n_inputs, n_labels, shape):
    assert image_shape(fitted(n_inputs, n_labels)) == shape


@pytest.mark.parametrize("n_inputs", [6, 9])
def test_a_recorded_shape_decides(n_inputs):
    classifier = fitted(n_inputs, 6)
    classifier.output_shape_ = (2, 3)
    assert image_shape(classifier) == (2, 3)
    classifier.output_shape_ = (1, 2, 3)
    assert image_shape(classifier) is None
