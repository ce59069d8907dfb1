"""Files: identical predictions from another process, and refusals."""

import subprocess
import sys
from functools import partial

import numpy as np
import pandas as pd
import pytest
import torch
from safetensors.torch import save_file
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import crbm
from crbm import persistence
from crbm.hashing import spectral
from planted import copied_patterns

DATA = copied_patterns(120)
X, Y = DATA.u.numpy(), DATA.v.numpy()
QUICK = {"n_epochs": 2, "random_state": 0}
CLASSIFIERS = {
    "logistic": crbm.LogisticClassifier(**QUICK, thresholds="macro_f1"),
    "crf": crbm.CRFClassifier(**QUICK, n_steps=5),
    "crbm": crbm.CRBMClassifier(
        **QUICK, n_hidden=8, optimizer=torch.optim.Adam, objective_params={"n_steps": 3}
    ),
    "hash": crbm.HashCRBMClassifier(**QUICK, n_hidden=8, n_estimators=2),
    "hash-all": crbm.HashCRBMClassifier(**QUICK, radius=None),
}
SCRIPT = """
import sys, numpy as np, crbm
from pathlib import Path
folder = Path(sys.argv[1])
X = np.load(folder / "X.npy")
for path in folder.glob("*.safetensors"):
    model = crbm.load(path)
    found = {"p": model.predict_proba(X), "y": model.predict(X)}
    top = model.predict_top_k(X, k=2).probability
    np.savez(path.with_suffix(".npz"), top=top, **found)
"""


@pytest.fixture(scope="module")
def predicted_elsewhere(tmp_path_factory):
    """Each classifier, and the file of what another process predicts with it."""
    folder = tmp_path_factory.mktemp("models")
    np.save(folder / "X.npy", X)
    fitted = {name: clone(model).fit(X, Y) for name, model in CLASSIFIERS.items()}
    for name, classifier in fitted.items():
        classifier.save(folder / f"{name}.safetensors")
    subprocess.run([sys.executable, "-c", SCRIPT, str(folder)], check=True)
    return {name: (fitted[name], folder / f"{name}.npz") for name in fitted}


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_another_process_predicts_the_same_bit_for_bit(name, predicted_elsewhere):
    fitted, path = predicted_elsewhere[name]
    found = np.load(path)
    # the other process has its own number of threads, these sums do not depend on it
    assert np.array_equal(found["p"], fitted.predict_proba(X))
    assert np.array_equal(found["top"], fitted.predict_top_k(X, k=2).probability)
    assert np.array_equal(found["y"], fitted.predict(X))


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_parameters_names_and_history_come_back(name, tmp_path):
    frame = pd.DataFrame(X, columns=list("abcd"))
    labels = pd.DataFrame(Y, columns=[f"label {i}" for i in range(6)])
    fitted = CLASSIFIERS[name].fit(frame, labels)
    fitted.save(tmp_path / "model.safetensors")
    loaded = crbm.load(tmp_path / "model.safetensors")
    assert type(loaded) is type(fitted)
    assert loaded.get_params() == fitted.get_params()
    assert loaded.label_names_ == list(labels.columns)
    assert list(loaded.feature_names_in_) == list(frame.columns)
    assert loaded.histories_ == fitted.histories_
    assert np.array_equal(loaded.predict(frame), fitted.predict(frame))


def test_a_column_of_classes_comes_back(tmp_path):
    y = np.where(Y[:, 0] == 1, "yes", "no")
    fitted = crbm.LogisticClassifier(**QUICK).fit(X, y)
    fitted.save(tmp_path / "m.safetensors")
    assert np.array_equal(
        crbm.load(tmp_path / "m.safetensors").predict(X), fitted.predict(X)
    )


@pytest.fixture
def saved(tmp_path):
    path = tmp_path / "model.safetensors"
    crbm.HashCRBMClassifier(**QUICK, n_hidden=4).fit(X, Y).save(path)
    return path


def test_writing_leaves_no_drafts_and_replaces_whole_files(saved):
    before = saved.read_bytes()
    crbm.LogisticClassifier(**QUICK).fit(X, Y).save(saved)
    assert saved.read_bytes() != before
    assert [p.name for p in saved.parent.iterdir()] == [saved.name]


def test_a_failed_write_loses_nothing(saved, monkeypatch):
    before = saved.read_bytes()
    monkeypatch.setattr(persistence, "save_file", lambda *a: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        crbm.LogisticClassifier(**QUICK).fit(X, Y).save(saved)
    assert saved.read_bytes() == before
    assert [p.name for p in saved.parent.iterdir()] == [saved.name]


def test_unfitted_classifiers_are_not_saved(tmp_path):
    with pytest.raises(NotFittedError):
        crbm.LogisticClassifier().save(tmp_path / "m.safetensors")


def test_a_missing_folder_is_named(tmp_path):
    fitted = crbm.LogisticClassifier(**QUICK).fit(X, Y)
    with pytest.raises(
        FileNotFoundError, match=r"folder `.*nowhere` .* does not exist"
    ):
        fitted.save(tmp_path / "nowhere" / "m.safetensors")


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="no model file"):
        crbm.load(tmp_path / "none.safetensors")


@pytest.mark.parametrize(
    "content",
    [b"", b"not a model", b"\x80\x04pickle", b"\xff" * 64, b"PK\x03\x04" + b"0" * 60],
)
def test_other_files_are_refused(tmp_path, content):
    path = tmp_path / "other.safetensors"
    path.write_bytes(content)
    with pytest.raises(
        ValueError, match="is not a model file of crbm, or it is damaged"
    ):
        crbm.load(path)


def test_truncated_files_are_refused(saved):
    saved.write_bytes(saved.read_bytes()[:-100])
    with pytest.raises(ValueError, match="damaged"):
        crbm.load(saved)


def test_safetensors_of_others_are_refused(tmp_path):
    path = tmp_path / "other.safetensors"
    save_file({"x": torch.zeros(2)}, path)
    with pytest.raises(ValueError, match="not a model of crbm"):
        crbm.load(path)


def changed(path, change):
    tensors, described = persistence.read(path)
    change(tensors, described)
    persistence.write(path, tensors, described)


def test_files_of_a_later_format_are_refused(saved):
    changed(saved, lambda t, d: d.update(format_version=99))
    with pytest.raises(ValueError, match="format 99, written by a later crbm"):
        crbm.load(saved)


@pytest.mark.parametrize(
    "change",
    [
        lambda t, d: d.update({"class": "os.system"}),
        lambda t, d: d["parameters"].update(surprise=1),
        lambda t, d: d["parameters"].update(optimizer={"torch.optim": "os"}),
        lambda t, d: d["fitted"].pop("classes_"),
        lambda t, d: d["fitted"].update(n_labels_=10**6),
        lambda t, d: t.pop("models.0.weight_vh"),
        lambda t, d: t.update({"models.0.weight_vh": torch.zeros(1, 1)}),
        lambda t, d: t["sets.ids"].fill_(10_000),
        lambda t, d: t["sets.ends"].fill_(-1),
        lambda t, d: t["sets.directions"].fill_(99),
        lambda t, d: t.pop("thresholds"),
        lambda t, d: t.update(thresholds=torch.zeros(2, dtype=torch.float64)),
        lambda t, d: t["models.0.weight_vh"].fill_(torch.nan),
        lambda t, d: t["models.0.bias_v"].fill_(torch.inf),
        lambda t, d: t.update({"models.0.bias_v": t["models.0.bias_v"].double()}),
        lambda t, d: t["sets.packed"].fill_(255),
        lambda t, d: t["sets.n_labels"].fill_(99),
        lambda t, d: t.update({"sets.ids": t["sets.ids"].double()}),
        lambda t, d: t.update({"sets.components": torch.zeros(7, 99).double()}),
        lambda t, d: d["fitted"].update(label_names_=["a"]),
        lambda t, d: d["fitted"].update(n_labels_=True),
        lambda t, d: d["fitted"].update(classes_=[0]),
        lambda t, d: d["parameters"].update(radius=-1),
        lambda t, d: d["parameters"].update(l2="much"),
    ],
)
def test_hostile_or_damaged_contents_are_refused(saved, change):
    changed(saved, change)
    with pytest.raises(ValueError, match="does not hold a whole classifier"):
        crbm.load(saved)


def test_weights_that_are_not_finite_are_not_saved(tmp_path):
    fitted = crbm.LogisticClassifier(**QUICK).fit(X, Y)
    fitted.models_[0].bias_v.data[0] = torch.nan
    with pytest.raises(ValueError, match=r"`models\.0\.bias_v` holds NaN"):
        fitted.save(tmp_path / "m.safetensors")


def test_what_cannot_be_described_is_not_saved(tmp_path):
    momentum = partial(torch.optim.SGD, momentum=0.9)
    fitted = crbm.LogisticClassifier(**QUICK, optimizer=momentum)
    fitted.fit(X, Y)
    with pytest.raises(ValueError, match="`optimizer` must be plain data"):
        fitted.save(tmp_path / "m.safetensors")


@pytest.mark.parametrize("weights", [None, np.ones(spectral.COVARIANCE_LIMIT + 2)])
def test_a_hash_of_many_inputs_is_saved(tmp_path, weights):
    """Its directions come from an iteration, which finds them in reverse."""
    n_inputs = spectral.COVARIANCE_LIMIT + 1
    X = np.random.default_rng(0).normal(size=(n_inputs + 1, n_inputs))
    Y = np.eye(n_inputs + 1, 3)
    classifier = crbm.HashCRBMClassifier(n_epochs=1, n_hidden=2, random_state=0)
    classifier.fit(X, Y, sample_weight=weights).save(tmp_path / "m.safetensors")
    again = crbm.load(tmp_path / "m.safetensors")
    assert np.array_equal(again.predict_proba(X), classifier.predict_proba(X))
