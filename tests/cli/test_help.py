"""The help texts name what exists, and options become a `Reading`."""

import re
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from crbm.cli import app, options, repository, train
from crbm.cli.errors import PlainGroup
from crbm.commands.reading import Reading
from crbm.commands.train import MODELS
from crbm.preprocessing import KINDS

COMMANDS = tuple(
    [name]
    for name in (
        "train",
        "predict",
        "evaluate",
        "inspect",
        "export",
        "push",
        "pull",
        "serve",
        "data",
    )
)


def help_text(*arguments):
    """The help of a command as one line, without the frame."""
    environment = {"COLUMNS": "200", "NO_COLOR": "1"}
    shown = CliRunner().invoke(
        app, [*arguments, "--help"], prog_name="crbm", env=environment
    )
    assert shown.exit_code == 0, shown.output
    return " ".join(re.sub(r"[│╭╮╰╯─]", " ", shown.stdout).split())


@pytest.mark.parametrize("arguments", [*COMMANDS, ["data", "list"], ["data", "fetch"]])
def test_each_command_has_help(arguments):
    assert help_text(*arguments).startswith(f"Usage: crbm {' '.join(arguments)} ")


def test_the_models_in_the_help_exist():
    listed = re.search(r"Kind of model: (.*?)\.", help_text("train"))[1]
    assert set(re.split(r", | or ", listed)) <= MODELS.keys()


def test_the_help_lists_all_kinds_of_preprocessing():
    assert tuple(re.split(r", | or ", train.PREPROCESSING)) == KINDS


def test_the_reading_options_are_the_fields_of_a_reading():
    reading, columns = options.READING_OPTIONS, options.COLUMN_OPTIONS
    assert (*reading, *columns) == Reading._fields
    defaults = {name: default for name, (_, default) in reading.items()}
    assert Reading(**defaults) == Reading()


def reading_from(*arguments):
    """What a command receives as `reading`."""
    received = []
    command = typer.Typer()

    @command.command()
    @options.with_reading_options
    def read(data: options.Data, *, reading: Reading, force: options.Force = False):
        received.append((data, reading, force))

    found = CliRunner().invoke(command, arguments, catch_exceptions=False)
    assert found.exit_code == 0, found.output
    return received[0]


def test_a_command_receives_the_reading_options_as_one_argument():
    assert reading_from("a.csv") == ("a.csv", Reading(), False)
    words = "a.svm --labels a,b --format libsvm --n-labels 2 --n-features 9 "
    words += "--zero-based --part test --force"
    expected = Reading(("a", "b"), "libsvm", 2, 9, True, "test")
    assert reading_from(*words.split()) == ("a.svm", expected, True)


def test_labels_are_parsed():
    assert reading_from("a.csv", "--labels", "-3")[1].labels == -3
    assert reading_from("a.csv", "--labels", __file__)[1].labels == Path(__file__)


def app_without(monkeypatch, *missing):
    """The app as it is where some modules cannot be found."""
    monkeypatch.setattr(
        repository, "is_importable", lambda module: module not in missing
    )
    fresh = typer.Typer(cls=PlainGroup)
    fresh.callback()(lambda: None)
    repository.add_commands(fresh)
    return fresh


MODULES = {name: command.module for name, command in repository.COMMANDS.items()}


@pytest.mark.parametrize("name", MODULES)
def test_a_command_without_its_package_is_hidden_and_says_why(name, monkeypatch):
    fresh = app_without(monkeypatch, MODULES[name])
    listed = CliRunner().invoke(fresh, ["--help"], env={"COLUMNS": "200"}).stdout
    shown = set(re.findall(r"│ (bench|reproduce|demo)\b", listed))
    assert shown == MODULES.keys() - {name}
    for arguments in ([], ["--help"], ["table1", "--quick"]):
        refused = CliRunner().invoke(fresh, [name, *arguments])
        assert refused.exit_code == 2
        assert refused.stdout == ""
        package = MODULES[name].split(".")[0]
        message = f"crbm: `crbm {name}` needs the package `{package}`, which is only in"
        assert refused.stderr.startswith(message)
        assert refused.stderr.count("\n") == 1


@pytest.mark.parametrize("name", MODULES)
def test_a_command_of_the_repository_has_help(name):
    assert help_text(name).startswith(f"Usage: crbm {name} ")


def test_modules_are_found_without_importing_them(tmp_path, monkeypatch):
    folder = tmp_path / "some_package"
    folder.mkdir()
    (folder / "module.py").write_text("raise RuntimeError")
    monkeypatch.syspath_prepend(tmp_path)
    assert repository.is_importable("some_package.module")
    assert not repository.is_importable("some_package.other")
    assert not repository.is_importable("no_such_package.module")
