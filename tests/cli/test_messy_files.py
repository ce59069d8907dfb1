"""Files as people have them: each trains, predicts and is evaluated by one command."""

import datetime
import json

import numpy as np
import openpyxl
import pandas as pd
import pytest
from typer.testing import CliRunner

import crbm
from crbm.cli import app

# The command line prints warnings; these tests read them there.
pytestmark = pytest.mark.filterwarnings("always::crbm.preprocessing.TableWarning")
N = 40
AT = np.arange(N)
LABELS = ["bug", "cancel"]
# Each label follows from one column, so that a model must have read it.
BUG, CANCEL = AT % 2 == 0, AT % 3 == 0
NOTES = np.array(["it crashes with an error", "where is my invoice please"])


def tickets():
    """A frame with an id, missing values, categories, dates, booleans and text."""
    days = datetime.datetime(2024, 1, 1) + pd.to_timedelta(7 * AT, "D")
    frame = pd.DataFrame(
        {
            "id": 700 + AT,
            "age": np.where(AT % 5 == 0, np.nan, 20.5 + AT % 7),
            "plan": np.array(["free", "pro", None], dtype=object)[AT % 3],
            "since": days,
            "note": [f"{NOTES[i % 2]} number{i}" for i in AT],
        }
    )
    frame[LABELS] = np.column_stack([BUG, CANCEL])
    return frame


def european(file):
    frame = tickets()
    frame["age"] = [f"{a:.1f}".replace(".", ",").replace("nan", "") for a in frame.age]
    frame["since"] = frame["since"].dt.strftime("%d.%m.%Y")
    frame["größe"] = [f"1.{100 + i},5" for i in AT]
    frame[LABELS] = frame[LABELS].astype(int)
    content = frame.to_csv(sep=";", index=False, lineterminator="\r\n")
    file.write_bytes(content.encode("cp1252") + b";;;;;;;\r\n")


def yes_no(file):
    frame = tickets()
    frame[LABELS] = np.where(frame[LABELS], "yes", "no")
    frame.to_csv(file, index=False)


def missing_labels(file):
    frame = tickets().astype({"bug": object})
    frame.loc[3, "bug"] = None
    frame.to_csv(file, index=False)


def label_sets(file):
    frame = tickets()
    held = [[n for n in LABELS if row[n]] for _, row in frame.iterrows()]
    frame.drop(columns=LABELS).assign(tags=list(map(";".join, held))).to_csv(file)


def filtered(file):
    tickets().sample(frac=1, random_state=0).to_parquet(file)


def excel(file):
    book = openpyxl.Workbook()
    rows = tickets().astype(object).replace({np.nan: None, pd.NaT: None})
    for row in [rows.columns.tolist(), *rows.values.tolist()]:
        book.active.append(row)
    book.save(file)


def json_lines(file):
    frame = tickets()
    held = [[n for n in LABELS if row[n]] for _, row in frame.iterrows()]
    frame = frame.drop(columns=LABELS).assign(tags=held)
    frame.to_json(file, orient="records", lines=True, date_format="iso")


NAMED = ("--labels", "bug,cancel")
MESSY = {
    "european.csv": (european, NAMED),
    "tabs.tsv": (lambda f: tickets().to_csv(f, sep="\t", index=False), NAMED),
    "yesno.csv": (yes_no, NAMED),
    "gaps.csv": (missing_labels, NAMED),
    "sets.csv": (label_sets, ("--labels", "tags", "--label-separator", ";")),
    "filtered.parquet": (filtered, NAMED),
    "tickets.xlsx": (excel, NAMED),
    "tickets.jsonl": (json_lines, ("--labels", "tags")),
    "tickets.feather": (lambda f: tickets().to_feather(f), NAMED),
}
QUICK = ("--model", "logreg", "--epochs", "60", "--no-progress", "--set")


def run(*arguments):
    words = [str(argument) for argument in arguments]
    return CliRunner().invoke(app, words, prog_name="crbm", catch_exceptions=False)


def trained(file, tmp_path, *options):
    out = tmp_path / "m.safetensors"
    found = run("train", file, *options, *QUICK, "learning_rate=1.0", "--out", out)
    assert found.exit_code == 0, found.output
    return out, found


@pytest.mark.parametrize("name", MESSY)
def test_a_messy_file_trains_predicts_and_is_evaluated(tmp_path, name):
    write, options = MESSY[name]
    file = tmp_path / name
    write(file)
    model, found = trained(file, tmp_path, *options)
    assert (
        "crbm: warning: Column `id` is left out: it numbers the rows." in found.stderr
    )
    report = json.loads(run("evaluate", model, file, "--json").stdout)
    assert report["metrics"]["hamming_error"] == 0.0
    predicted = run("predict", model, file)
    header, *rows = predicted.stdout.splitlines()
    assert header == "bug,cancel"
    rows = {tuple(row.split(",")) for row in rows}
    assert rows == {(str(b), str(c)) for b in (0, 1) for c in (0, 1)}


def test_a_metric_and_a_time_limit_are_for_the_default_model(tmp_path):
    file, out = tmp_path / "a.csv", tmp_path / "m.safetensors"
    tickets().to_csv(file, index=False)
    options = ("--metric", "jaccard", "--time-limit", "60", "--held-out", "0")
    members = ("--set", "members=['forest']", "--no-progress")
    found = run("train", file, *NAMED, *options, *members, "--out", out)
    assert found.exit_code == 0, found.output
    classifier = crbm.load(out)
    assert classifier.metric == "jaccard"
    assert classifier.time_limit == 60


def test_a_model_asks_for_its_columns_by_name_alone(tmp_path):
    file, asked = tmp_path / "a.csv", tmp_path / "asked.csv"
    tickets().to_csv(file, index=False)
    model, _ = trained(file, tmp_path, *NAMED)
    asked.write_text("note;since;age;plan\nit crashes;2024-02-01;;gold\n;;1,5;\n")
    assert run("predict", model, asked).stdout.splitlines()[1].startswith("1,")
    asked.write_text("note,since,age\na,2024-02-01,1\n")
    failed = run("predict", model, asked)
    assert failed.stderr.startswith(f"crbm: `{asked}`: There is no column `plan`")


def test_inspect_says_how_each_column_was_read(tmp_path):
    file = tmp_path / "a.csv"
    tickets().to_csv(file, index=False)
    model, _ = trained(file, tmp_path, *NAMED, "--drop", "since", "--text", "plan")
    columns = json.loads(run("inspect", model, "--json").stdout)["columns"]
    assert {row["column"]: (row["read_as"], row["details"]) for row in columns} == {
        "id": ("left out", "it numbers the rows"),
        "age": ("number", "missing: 23.5"),
        "plan": ("text", "2 words"),
        "note": ("text", "10 words"),
    }
    printed = run("inspect", model).stdout
    assert "it numbers the rows" in printed


def test_numbers_alone_are_not_encoded_and_may_be_missing_later(tmp_path):
    file, asked = tmp_path / "a.csv", tmp_path / "asked.csv"
    frame = pd.DataFrame({"x": AT % 2 + 0.5, "y": AT % 3 * 1.5, "bug": BUG * 1})
    frame.to_csv(file, index=False)
    model, _ = trained(file, tmp_path, "--labels", "bug")
    classifier = crbm.load(model)
    assert not hasattr(classifier, "encoder_")
    assert classifier.examples_.shape == (8, 2)
    asked.write_text("y,x\n1,0.5\n,1.5\n")
    assert run("predict", model, asked).stdout == "bug\n1\n0\n"


def test_examples_are_kept_unless_they_are_not_wanted(tmp_path):
    file = tmp_path / "a.csv"
    tickets().to_csv(file, index=False)
    model, _ = trained(file, tmp_path, *NAMED)
    rows = crbm.load(model).examples_.records()
    assert len(rows) == 8
    assert rows[0]["note"] == "it crashes with an error number0"
    assert rows[0].keys() == {"age", "plan", "since", "note"}
    model, _ = trained(file, tmp_path, *NAMED, "--examples", "0", "--force")
    assert not hasattr(crbm.load(model), "examples_")


LINE = "57,free,2024-01-02,it crashes,1,0"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (LINE.replace("57", "old"), "line 5, column `age`: 'old' is not a number"),
        (LINE.replace("2024-01-02", "soon"), "line 5, column `since`: 'soon' is not a"),
        (LINE.replace(",1,0", ",1,maybe"), "line 5, column `cancel`: 'maybe' is not 0"),
        (LINE + ",1", "line 5: Expected 6 columns, got 7"),
    ],
)
def test_a_wrong_value_gets_one_line_with_column_and_line(tmp_path, line, message):
    file = tmp_path / "bad.csv"
    good = [LINE.replace("57", str(age)) for age in range(20, 40)]
    header = "age,plan,since,note,bug,cancel"
    file.write_text("\n".join([header, *good[:3], line, *good[3:]]))
    found = run("train", file, *NAMED, "--out", tmp_path / "m.safetensors")
    assert found.exit_code == 2
    assert found.stderr.startswith(f"crbm: `{file}`, {message}")
    assert found.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((), "name the columns of the labels with --labels, as in `--labels a,b`"),
        (
            ("--labels", "bag"),
            "label `bag` is not a column of the file (7 columns). Did",
        ),
        (("--labels", "bug,bug"), "label name `bug` appears twice"),
        ((*NAMED, "--drop", "agee"), "There is no column `agee`. Did you mean `age`?"),
        (("--labels", "note"), "different values are too many for classes"),
        (("--labels", "age"), "Round it, or predict numbers with CRBMRegressor"),
        ((*NAMED, "--label-separator", ";"), "sets of labels need one label column"),
    ],
)
def test_a_wrong_option_gets_one_line(tmp_path, options, message):
    file = tmp_path / "a.csv"
    tickets().to_csv(file, index=False)
    found = run("train", file, *options, "--out", tmp_path / "m.safetensors")
    assert found.exit_code == 2
    assert message in found.stderr
    assert found.stderr.count("\n") == 1


def test_column_options_are_for_tables(tmp_path):
    file = tmp_path / "a.npz"
    np.savez(file, X=np.eye(3), Y=np.eye(3))
    found = run("train", file, "--drop", "a", "--out", tmp_path / "m.safetensors")
    assert "is not a table: --drop" in found.stderr
