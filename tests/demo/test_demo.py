"""The demo on a few digits and genes: tables, files and one page that stands alone."""

import re

import numpy as np
import pytest

import crbm
from benchmarks.multilabel import Split, split
from demo import digits as demo_digits, genes as demo_genes, run as demo


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """The whole demo, made small."""
    folder = tmp_path_factory.mktemp("out") / "demo"
    whole = split("yeast")
    few = Split(*(part[:100] for part in whole))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(demo_digits, "N_TRAINING", 32)
        patch.setattr(demo_genes, "split", lambda name: few)
        patch.setattr(demo_genes, "RandomForestClassifier", lambda *a, **k: Constant())
        patch.setattr(demo_genes, "AutoClassifier", Few)
        patch.setitem(demo_digits.CRBM_DEFAULTS, "n_hidden", 8)
        found = demo.run(folder, n_epochs=1, quiet=True)
        _, test = demo_digits.occluded_digits(0)
    return found, folder, test


class Few(crbm.AutoClassifier):
    """One member only."""

    def __init__(self, metric="hamming", random_state=None, progress=None):
        super().__init__(
            metric=metric, members=["forest"], n_folds=2, random_state=random_state
        )


class Constant:
    """A rival that costs nothing: no gene has any function."""

    def fit(self, X, Y):
        self.shape = Y.shape[1]
        return self

    def predict(self, X):
        return np.zeros((len(X), self.shape), dtype=int)


def test_the_table_of_digits_is_what_the_files_predict(run):
    found, folder, test = run
    for name in ("LogReg", "CD-PercLoss"):
        model = crbm.load(folder / f"digits-{name.lower()}.safetensors")
        assert model.output_shape_ == (28, 28)
        wrong = 100 * np.mean(model.predict(test.X) != test.Y)
        assert found["digits"][name]["all"] == pytest.approx(wrong)
    assert found["digits"]["noisy input"]["changed"] == 100
    assert set(found["digits"]) == {"noisy input", *demo_digits.MODELS}


def test_the_table_of_genes_is_what_the_file_predicts(run):
    found, folder, _ = run
    part = split("yeast")
    X, Y = part.X_test[:100], part.Y_test[:100]
    for name in ("HashCRBM", demo_genes.OURS):
        model = crbm.load(folder / f"yeast-{name.lower()}.safetensors")
        wrong = 100 * np.mean(model.predict(X) != Y)
        assert found["yeast"][name]["wrong labels"] == pytest.approx(wrong)
    sets = model.set_params(metric="subset_accuracy").predict(X)
    right = 100 * (sets == Y).all(1).mean()
    assert found["yeast"][demo_genes.OURS]["correct sets"] == pytest.approx(right)
    nothing = 100 * np.mean(Y != 0)
    assert found["yeast"]["random forest"]["wrong labels"] == pytest.approx(nothing)


def test_the_report_is_one_file_that_asks_for_nothing_else(run):
    found, folder, _ = run
    page = (folder / "report.html").read_text()
    assert found["report"] == str(folder / "report.html")
    sources = re.findall(r'(?:src|href)="([^"]{1,40})', page)
    assert len(sources) == 3
    assert all(source.startswith("data:image/png;base64,") for source in sources)
    assert "http" not in re.sub(r'src="[^"]*"', "", page)
    for name, error in found["digits"].items():
        assert f"<td>{name}</td>" in page
        assert f"{error['changed']:.2f}</td>" in page
    for verdict in found["verdicts"]:
        assert verdict in page


def test_verdicts_say_who_is_ahead_and_whether_it_is_sure():
    Y = np.ones((100, 2), dtype=int)
    half = Y.copy()
    half[:50, 0] = 0
    guesses = {"peer": half, demo_genes.OURS: Y}
    genes = demo_genes.Genes(Y, Y, guesses, guesses, {})
    labels, sets = demo_genes.verdicts(genes)
    assert labels.startswith("Wrong labels: AutoClassifier is better than peer")
    assert "by 25.0 ± 5.0 points." in labels
    assert "by 50.0 ± 10.1 points." in sets
    swapped = {"peer": Y, demo_genes.OURS: half}
    genes = demo_genes.Genes(Y, Y, swapped, swapped, {})
    assert "worse than peer" in demo_genes.verdicts(genes)[0]
    alike = {"peer": half, demo_genes.OURS: half[::-1]}
    genes = demo_genes.Genes(Y, Y, alike, alike, {})
    assert "within the noise" in demo_genes.verdicts(genes)[0]
