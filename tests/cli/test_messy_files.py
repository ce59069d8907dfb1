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


def nested(file):
    """Objects in objects, of which some lack, and labels of null."""
    rows = json.loads(tickets().to_json(orient="records", date_format="iso"))
    for place, row in enumerate(rows):
        row["user"] = {"plan": row.pop("plan"), "since": row.pop("since")}
        if place % 10 == 1:
            row["user"], row["cancel"] = None, None
    file.write_text("\n".join(map(json.dumps, rows)))


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
    "nested.jsonl": (nested, NAMED),
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
    left_out = "crbm: warning: Column `id` is left out: it numbers the rows."
    assert found.stderr.count(left_out) == 1
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


def test_later_files_have_the_decimal_point_of_the_first(tmp_path):
    file, asked = tmp_path / "a.csv", tmp_path / "asked.csv"
    rows = [f"{('1.500', '2,5')[i % 2]};{'xy'[i // 2 % 2]};{i % 2}" for i in AT]
    file.write_text("\n".join(["sum;plan;bug", *rows]))
    model, _ = trained(file, tmp_path, "--labels", "bug")
    for values in ("1.500;x\n2,5;x", "1.500;x\n2;x", "1500;x\n2;x"):
        asked.write_text(f"sum;plan\n{values}\n")
        assert run("predict", model, asked).stdout == "bug\n0\n1\n"
    file.write_text("\n".join(["sum;plan;bug", *rows]).replace("1.500", "1500"))
    model, _ = trained(file, tmp_path, "--labels", "bug", "--force")
    asked.write_text("sum;plan\n1.500;x\n2;x\n")
    assert run("predict", model, asked).stdout == "bug\n0\n1\n"


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


EVERY = "id,age,plan,since,note,cancel"
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
        ((*NAMED, "--drop", "bug"), "Column `bug` is a label; it cannot be an input"),
        (("--labels", "bug", "--drop", EVERY), "No column is left for the inputs"),
        (
            ("--labels", "plan"),
            "line 2, column `plan`: 'free' is not 0 or 1, yes or no",
        ),
        (("--labels", "plan"), "`auto` does not predict classes"),
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


def test_classes_that_look_like_sets_are_noticed(tmp_path):
    file, out = tmp_path / "a.csv", tmp_path / "m.safetensors"
    sets = np.array(["cancel", "bug", "bug;cancel", "cancel;bug"])[AT % 4]
    tickets().drop(columns=LABELS).assign(tags=sets).to_csv(file, index=False)
    failed = run("train", file, "--labels", "tags", "--out", out)
    assert failed.exit_code == 2
    assert "add `--label-separator ';'` for sets" in failed.stderr
    _, found = trained(file, tmp_path, "--labels", "tags", "--held-out", "0")
    assert "If these are sets of labels, add `--label-separator ';'`" in found.stderr


def test_a_folder_without_data_is_refused(tmp_path):
    found = run("train", tmp_path, *NAMED, "--out", tmp_path / "m.safetensors")
    assert found.exit_code == 2
    assert "is a folder with no image files and no Parquet or Arrow" in found.stderr


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("model")
    tickets().to_csv(folder / "a.csv", index=False)
    return trained(folder / "a.csv", folder, *NAMED, "--held-out", "0")[0]


def stray(write, column="age"):
    """Write a table with a word among the numbers of row 12, under the header."""

    def write_wrong(file):
        frame = tickets().astype({column: object})
        frame.loc[10, column] = "stray"
        write(frame, file)

    return write_wrong


def cut(write):
    """Write the first half of a file."""

    def write_half(file):
        write(file)
        content = file.read_bytes()
        file.write_bytes(content[: len(content) // 2])

    return write_half


def to_text(frame):
    return frame.assign(age=frame.age.astype(str).replace("nan", None))


STRAY = "column `age`: 'stray' is not a number"
WRONG = {
    "stray.csv": (stray(lambda t, f: t.to_csv(f, index=False)), f"line 12, {STRAY}"),
    "stray.xlsx": (stray(lambda t, f: t.to_excel(f, index=False)), f"row 12, {STRAY}"),
    "stray.parquet": (stray(lambda t, f: to_text(t).to_parquet(f)), f"row 11, {STRAY}"),
    "stray.jsonl": (
        stray(
            lambda t, f: t.to_json(f, orient="records", lines=True, date_format="iso")
        ),
        f"line 11, {STRAY}",
    ),
    "less.feather": (
        lambda f: tickets().drop(columns="plan").to_feather(f),
        "There is no column `plan`; the columns are `id`, `age`, `since`, `note`, `bug`"
        " and 1 more.",
    ),
    "twice.csv": (lambda f: f.write_text("age,age\n1,2\n"), "`age` appears twice"),
    "empty.csv": (lambda f: f.write_text(""), "the file is empty"),
    "header.csv": (lambda f: f.write_text("age;plan"), "no rows after the header"),
    "header.xlsx": (lambda f: tickets()[:0].to_excel(f), "no rows below the names"),
    "header.parquet": (lambda f: tickets()[:0].to_parquet(f), "no rows"),
    "cut.parquet": (cut(lambda f: tickets().to_parquet(f)), "not a complete Parquet"),
    "cut.xlsx": (cut(excel), "not a complete Excel file"),
    "cut.feather": (
        cut(lambda f: tickets().to_feather(f)),
        "not a complete Arrow file",
    ),
    "parquet.csv": (lambda f: tickets().to_parquet(f), "the content is parquet"),
    "text.doc": (lambda f: f.write_text("age\n1\n"), "as in `--format csv`"),
    "folder.csv": (lambda f: f.mkdir(), "is a folder; a data file is needed"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_file_gets_one_line_and_nothing_is_replaced(model, tmp_path, name):
    write, message = WRONG[name]
    file, out = tmp_path / name, tmp_path / "predicted.csv"
    write(file)
    out.write_text("mine")
    found = run("predict", model, file, "--out", out, "--force")
    assert found.exit_code == 2
    assert str(file) in found.stderr
    assert message in found.stderr
    assert found.stderr.count("\n") == 1
    assert out.read_text() == "mine"


def test_column_options_are_for_tables(tmp_path):
    file = tmp_path / "a.npz"
    np.savez(file, X=np.eye(3), Y=np.eye(3))
    found = run("train", file, "--drop", "a", "--out", tmp_path / "m.safetensors")
    assert "is not a table: --drop" in found.stderr
