"""The help texts name what exists, and options become a `Reading`."""

import re
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from crbm.cli import app, options, train
from crbm.commands.reading import Reading
from crbm.commands.train import MODELS
from crbm.preprocessing import KINDS

COMMANDS = (["train"], ["predict"], ["evaluate"], ["inspect"], ["serve"], ["data"])


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
    listed = re.search(r"Kind of model, e\.g\. (.*?)\.", help_text("train"))[1]
    assert set(re.split(r", | or ", listed)) <= MODELS.keys()


def test_the_help_lists_all_kinds_of_preprocessing():
    assert tuple(re.split(r", | or ", train.PREPROCESSING)) == KINDS


def test_the_reading_options_are_the_fields_of_a_reading():
    assert tuple(options.READING_OPTIONS) == Reading._fields
    defaults = {name: default for name, (_, default) in options.READING_OPTIONS.items()}
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
