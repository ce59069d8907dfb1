"""Model files of earlier versions load for ever and predict what they predicted."""

import json
from pathlib import Path

import numpy as np
import pytest

import crbm

FOLDER = Path(__file__).parents[1] / "golden"
EXPECTED = json.loads((FOLDER / "expected.json").read_text())
X = np.sin(np.arange(60.0)).reshape(20, 3)


@pytest.mark.parametrize("name", EXPECTED)
def test_a_kept_file_predicts_what_it_did(name):
    classifier, expected = crbm.load(FOLDER / f"{name}.safetensors"), EXPECTED[name]
    assert type(classifier).__name__ == expected["class"]
    assert classifier.predict(X[:6]).tolist() == expected["labels"]
    p, top = classifier.predict_proba(X[:6]), classifier.predict_top_k(X[:6], k=2)
    # the order of sums differs between machines
    np.testing.assert_allclose(p, expected["probability"], rtol=1e-6)
    np.testing.assert_allclose(top.probability, expected["top_k"], rtol=1e-6)


def test_every_kept_file_is_tested():
    assert {file.stem for file in FOLDER.glob("*.safetensors")} == set(EXPECTED)
