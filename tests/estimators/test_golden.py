"""Model files of earlier versions load for ever and predict what they predicted."""

import importlib.util
import json
from pathlib import Path

import numpy as np
import pytest

import crbm

FOLDER = Path(__file__).parents[1] / "golden"
EXPECTED = json.loads((FOLDER / "expected.json").read_text())
SPEC = importlib.util.spec_from_file_location("golden_make", FOLDER / "make.py")
MAKE = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(MAKE)


@pytest.mark.parametrize("name", EXPECTED)
def test_a_kept_file_predicts_what_it_did(name):
    fitted = crbm.load(FOLDER / f"{name}.safetensors")
    found, expected = MAKE.predictions(name, fitted), EXPECTED[name]
    assert found.keys() == expected.keys()
    assert found.pop("class") == expected["class"]
    assert found.pop("labels", None) == expected.get("labels")
    for key, values in found.items():
        for one, other in zip(values, expected[key], strict=True):
            # the order of sums differs between machines
            np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-12)


def test_every_kind_has_a_file_of_the_latest_format():
    files = {file.stem for file in FOLDER.glob("*.safetensors")}
    assert files == set(EXPECTED)
    assert {f"{kind}-{MAKE.VERSION}" for kind in MAKE.KINDS} <= files
