"""The effect of each parameter on the error: change one at a time, on three seeds.

    python examples/tuning_effects.py results/tuning-effects.json

Labels: yeast; seed k uses the k-th of ten folds, trains on its 80 % and tests on the
other 20 %. Digits: mnist-5k with an 8 x 8 patch set to 0; seed k draws 1,000 digits to
train on and 500 others to test on. Every fit runs on one thread.
"""

import json
import sys
import time

import numpy as np
import torch

import crbm

SEEDS = (0, 1, 2)
LABELS = {
    "n_epochs": 10,
    "n_hidden": 64,
    "preprocessing": "standardise",
    "learning_rate": 2**-6,
    "radius": 1,
    "init_scale": 0.01,
    "base_measure": "uniform",
    "stop_by": "error",
}
DIGITS = {
    "n_epochs": 10,
    "n_hidden": 128,
    "learning_rate": 2**-2,
    "preprocessing": "none",
    "objective": "perceptron",
    "stop_by": "error",
}
# The first entry changes nothing; the others are compared with it.
CHANGES = {
    "labels": (
        {},
        {"learning_rate": 2**-4},
        {"learning_rate": 2**-8},
        {"n_epochs": 30},
        {"n_epochs": 30, "early_stopping": True},
        {"preprocessing": "none"},
        {"preprocessing": "kernel"},
        {"init_scale": 0.3},
        {"preprocessing": "kernel", "init_scale": 0.3},
        {"n_hidden": 256},
        {"n_epochs": 30, "l2": 0.01},
        {"n_bits": 5},
        {"n_bits": 9},
        {"radius": None},
        {"n_estimators": 5},
        {"thresholds": "macro_f1"},
        {"prediction": "mode"},
    ),
    "digits": (
        {},
        {"learning_rate": 1.0},
        {"learning_rate": 2**-4},
        {"learning_rate": 2**-6},
        {"n_epochs": 30},
        {"n_epochs": 100},
        {"n_hidden": 32},
        {"n_hidden": 256},
        {"objective_params": {"n_steps": 1}},
        {"objective_params": {"n_steps": 20}},
        {"objective": "cd", "objective_params": {"n_steps": 1}, "learning_rate": 1.0},
        {"objective": "max_margin"},
        {"batch_size": 128},
        {"inference": "mean_field"},
        {"fresh_patches": False},
    ),
}


def genes(seed):
    """Training and test genes with their functions."""
    data = crbm.datasets.load("yeast")
    train, *rest = crbm.datasets.folds(data)[seed]
    test = np.concatenate(rest)
    X = data.X.astype(np.float32)
    return (X[train], data.Y[train]), (X[test], data.Y[test])


def digits(seed, n_train=1000, n_test=500):
    """Training and test digits: with the patch, and without."""
    data = crbm.datasets.load("mnist-5k")
    data = crbm.datasets.denoising(data, "occluded", seed=seed)
    rows = np.random.default_rng(seed).permutation(len(data))[: n_train + n_test]
    X, Y = data.X.astype(np.float32), data.Y
    train, test = rows[:n_train], rows[n_train:]
    return (X[train], Y[train]), (X[test], Y[test])


def fresh_patches(batch, generator):
    """The same digits with the patch somewhere else."""
    return batch._replace(u=crbm.datasets.occlude(batch.v, generator=generator))


def label_errors(change, seed):
    """Wrong labels, whole sets right and mean F1 of HashCRBM, in percent."""
    train, (X, Y) = genes(seed)
    parameters = {**LABELS, "random_state": seed, "n_threads": 1, **change}
    labels = crbm.HashCRBMClassifier(**parameters).fit(*train).predict(X)
    return {
        "wrong": 100 * crbm.metrics.hamming_error(Y, labels),
        "sets right": 100 * crbm.metrics.subset_accuracy(Y, labels),
        "macro F1": 100 * crbm.metrics.macro_f1(Y, labels),
    }


def digit_errors(change, seed):
    """Wrong pixels of CD-PercLoss, of all and of those under the patch, in percent."""
    train, (X, Y) = digits(seed)
    parameters = {**DIGITS, "inference": "search", "n_threads": 1, **change}
    augment = fresh_patches if parameters.pop("fresh_patches", True) else None
    classifier = crbm.CRBMClassifier(random_state=seed, **parameters)
    restored = classifier.fit(*train, augment=augment).predict(X)
    return {
        "all": 100 * crbm.metrics.all_error(Y, restored),
        "changed": 100 * crbm.metrics.changed_error(Y, restored, X),
    }


MEASURES = {"labels": label_errors, "digits": digit_errors}


def sweep(problem):
    """One row for each change and seed."""
    for change in CHANGES[problem]:
        for seed in SEEDS:
            began = time.process_time()
            errors = MEASURES[problem](change, seed)
            seconds = round(time.process_time() - began, 2)
            row = {"problem": problem, "change": change, "seed": seed}
            yield {**row, "metrics": errors, "cpu_seconds": seconds}


def table(rows, problem):
    """Means over the seeds, and mean and spread of each change's effect."""
    rows = [row for row in rows if row["problem"] == problem]
    names = list(rows[0]["metrics"])
    head = ["parameter", *names, f"effect on {names[0]}", "CPU s"]
    lines = [head, ["---"] * len(head)]
    base = errors_by_change(rows)["as above"]
    for name, errors in errors_by_change(rows).items():
        effect = errors[:, 0] - base[:, 0]
        shown = f"{effect.mean():+.2f} ({', '.join(f'{e:+.2f}' for e in effect)})"
        means = [f"{mean:.2f}" for mean in errors.mean(0)]
        seconds = [row["cpu_seconds"] for row in rows if change_name(row) == name]
        cost = f"{np.mean(seconds):.1f}"
        lines.append([name, *means, shown if effect.any() else "", cost])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def errors_by_change(rows):
    """One row of errors per seed, for each change."""
    found = {}
    for row in rows:
        found.setdefault(change_name(row), []).append([*row["metrics"].values()])
    return {name: np.array(errors) for name, errors in found.items()}


def change_name(row):
    """The change as arguments of a classifier."""
    shown = [f"`{name}={as_code(value)}`" for name, value in row["change"].items()]
    return ", ".join(shown) or "as above"


def as_code(value):
    """A value as code, with learning rates as powers of 2."""
    if isinstance(value, float) and np.log2(value).is_integer() and value < 1:
        return f"2**{np.log2(value):.0f}"
    return repr(value)


def main(path):
    """Measure everything, write the rows, print the tables."""
    torch.set_num_threads(1)
    rows = []
    for problem in CHANGES:
        rows += sweep(problem)
    with open(path, "w") as file:
        json.dump(rows, file, indent=1)
    for problem in CHANGES:
        print(table(rows, problem), end="\n\n")


if __name__ == "__main__":
    main(sys.argv[1])
