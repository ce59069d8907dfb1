"""The command: as a process where that matters, else called in this one."""

import json
import os
import subprocess
import sys

from typer.testing import CliRunner

from crbm.cli import app
from crbm.cli.main import ONEDNN_CACHES


def process(*arguments):
    return subprocess.run(
        [sys.executable, "-m", "crbm", *arguments],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "COLUMNS": "100"},
    )


def crbm(*arguments, **environment):
    return CliRunner(env={"COLUMNS": "100", **environment}).invoke(app, arguments)


def test_version():
    assert process("--version").stdout.startswith("crbm 0.")


def test_caches_of_onednn_are_small_unless_the_user_says_more(monkeypatch):
    first, second = ONEDNN_CACHES
    monkeypatch.setenv(first, "7")
    monkeypatch.setenv(second, "")
    monkeypatch.delenv(second)
    assert crbm("data", "list").exit_code == 0
    assert (os.environ[first], os.environ[second]) == ("7", "256")


def test_help_lists_the_commands():
    shown = process("--help").stdout
    assert "demo" in shown
    assert "data" in shown


def test_data_sets_are_listed_as_a_table_and_as_json():
    assert "mnist-5k" in crbm("data", "list").stdout
    rows = json.loads(crbm("data", "list", "--json").stdout)
    by_name = {row["name"]: row for row in rows}
    assert by_name["mnist-5k"]["place"]
    assert {"yeast", "scene", "majmin", "occluded-mnist"} <= by_name.keys()


def test_embedded_data_is_fetched_without_a_network():
    found = crbm("data", "fetch", "mnist-5k", "--json")
    assert found.exit_code == 0
    assert json.loads(found.stdout)["files"]


def test_an_unknown_name_is_an_error_of_one_line():
    found = process("data", "fetch", "yeats")
    assert found.returncode == 2
    assert found.stdout == ""
    assert found.stderr.count("\n") == 1
    assert "yeats" in found.stderr
    assert "yeast" in found.stderr


def test_an_error_says_where_to_get_missing_data(tmp_path):
    found = crbm("data", "fetch", "horses", CRBM_DATA=str(tmp_path), HOME=str(tmp_path))
    assert found.exit_code == 2
    assert found.stderr.count("\n") == 1
    assert "put them in" in found.stderr


def test_an_unknown_suite_is_refused():
    found = crbm("bench", "--suite", "magic")
    assert found.exit_code == 2
    assert "multilabel" in found.stderr


def test_the_demo_refuses_a_bad_folder_before_it_trains(tmp_path):
    (tmp_path / "file").touch()
    found = crbm("demo", "--out", str(tmp_path / "file" / "folder"))
    assert found.exit_code == 2
    assert "Training" not in found.stdout
    assert found.stderr.count("\n") == 1
    assert "Choose another place." in found.stderr
