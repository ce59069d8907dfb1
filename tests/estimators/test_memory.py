"""Predictions in bounded memory: inputs from files far larger than what is used."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import crbm
from crbm.estimators.encoding import forget_pages

N_FEATURES, N_LABELS = 784, 4
# A file of this many rows held in memory would take 157 MB; LIMIT is in megabytes.
N_ROWS, LIMIT = 50_000, 60

CLASSIFIERS = {
    "logistic": lambda: crbm.LogisticClassifier(n_epochs=1, random_state=0),
    "crbm": lambda: crbm.CRBMClassifier(n_epochs=1, n_hidden=4, random_state=0),
    "hash": lambda: crbm.HashCRBMClassifier(
        n_epochs=1, n_hidden=4, n_bits=3, random_state=0
    ),
}


@pytest.fixture
def problem():
    """More rows than are computed at once, and labels that follow from them."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2500, 6)).astype(np.float32)
    return X, (X[:, :3] + X[:, 3:] > 0).astype(int)


@pytest.fixture
def mapped(problem, tmp_path):
    """The same inputs in a file."""
    np.save(tmp_path / "X.npy", problem[0])
    return np.load(tmp_path / "X.npy", mmap_mode="r")


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_a_file_gives_the_answers_of_memory(name, problem, mapped):
    X, Y = problem
    classifier = CLASSIFIERS[name]().fit(X, Y)
    expected = classifier.predict(X)
    assert expected.dtype == np.int64
    assert np.array_equal(classifier.predict(mapped), expected)
    assert np.array_equal(
        np.concatenate(list(classifier.predict_batches(mapped))), expected
    )
    assert np.array_equal(classifier.predict_proba(mapped), classifier.predict_proba(X))


def test_batches_are_given_what_is_known(problem):
    X, Y = problem
    classifier = CLASSIFIERS["crbm"]().fit(X, Y)
    known = np.full(Y.shape, np.nan)
    known[:, 0] = 1 - Y[:, 0]
    batches = list(classifier.predict_batches(X, known))
    assert [len(batch) for batch in batches] == [1024, 1024, 452]
    assert np.array_equal(np.concatenate(batches), classifier.predict(X, known))
    assert np.array_equal(np.concatenate(batches)[:, 0], 1 - Y[:, 0])


def test_a_bad_value_far_down_is_still_refused(problem):
    X, Y = problem
    classifier = CLASSIFIERS["logistic"]().fit(X, Y)
    X = X.copy()
    X[2400, 3] = np.inf
    with pytest.raises(ValueError, match=r"contains infinity\. Column 3 of X"):
        classifier.predict(X)


def test_labels_of_another_length_are_refused_before_anything_is_computed(problem):
    X, Y = problem
    classifier = CLASSIFIERS["logistic"]().fit(X, Y)
    with pytest.raises(ValueError, match="`X` has 2500 rows, the labels have 2000"):
        next(classifier.predict_batches(X, Y[:2000]))


def test_partial_fit_reads_a_file_piece_by_piece(problem, mapped):
    X, Y = problem
    streamed, in_memory = CLASSIFIERS["crbm"](), CLASSIFIERS["crbm"]()
    for start in range(0, len(X), 500):
        rows = slice(start, start + 500)
        streamed.partial_fit(mapped[rows], Y[rows])
        in_memory.partial_fit(X[rows], Y[rows])
    assert np.array_equal(streamed.predict_proba(X), in_memory.predict_proba(X))
    assert (streamed.predict(X) == Y).mean() > 0.8


def test_changes_of_a_private_map_are_not_forgotten(problem, tmp_path):
    np.save(tmp_path / "X.npy", problem[0])
    private = np.load(tmp_path / "X.npy", mmap_mode="c")
    private[0, 0] = 42
    forget_pages(private[:10])
    assert private[0, 0] == 42


SCRIPT = """
import json, sys
from pathlib import Path
import numpy as np
sys.path.insert(0, {tests!r})
from benchmarks import memory
from estimators.test_memory import CLASSIFIERS, N_FEATURES, N_LABELS

rng = np.random.default_rng(0)
X = rng.normal(size=(2048, N_FEATURES)).astype(np.float32)
huge = np.load({path!r}, mmap_mode="r")
more = {{}}
for name, new in CLASSIFIERS.items():
    classifier = new().fit(X[:64], X[:64, :N_LABELS] > 0)
    classifier.predict(X)  # what packages and buffers take
    Path("/proc/self/clear_refs").write_text("5")  # the peak counts from here on
    before = memory.peak_megabytes()
    assert classifier.predict(huge).shape == (len(huge), N_LABELS)
    more[name] = memory.peak_megabytes() - before
print(json.dumps(more))
"""


@pytest.mark.slow
@pytest.mark.skipif(
    not Path("/proc/self/clear_refs").exists(), reason="resets Linux's peak of memory"
)
def test_inputs_from_a_file_are_not_held_in_memory(tmp_path):
    """The file holds zeros only, which take no room on the disk."""
    path, shape = tmp_path / "huge.npy", (N_ROWS, N_FEATURES)
    np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=shape)
    assert path.stat().st_blocks * 512 < 1e6
    tests = str(Path(__file__).parent.parent)
    script = SCRIPT.format(tests=tests, path=str(path))
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    more = json.loads(done.stdout)
    assert more.keys() == CLASSIFIERS.keys()
    assert max(more.values()) < LIMIT, more
