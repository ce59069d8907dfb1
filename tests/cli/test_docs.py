"""The commands and the code of the command line's page run, in their order."""

import re
import shutil
from pathlib import Path

from typer.testing import CliRunner

from crbm.cli import app

PAGE = (Path(__file__).parents[2] / "docs" / "command_line.md").read_text()
BLOCKS = re.findall(r"```(console|python)\n(.*?)```", PAGE, flags=re.DOTALL)


def test_the_blocks_run(folder, tmp_path, monkeypatch):
    shutil.copy(folder / "pets.csv", tmp_path)
    monkeypatch.chdir(tmp_path)
    commands = 0
    for kind, text in BLOCKS:
        if kind == "python":
            exec(compile(text, "docs/command_line.md", "exec"), {})
            continue
        for line in re.findall(r"^\$ crbm (.*)$", text, flags=re.MULTILINE):
            found = CliRunner().invoke(app, line.split(), catch_exceptions=False)
            assert found.exit_code == 0, found.output
            commands += 1
    assert commands == 9
    written = {"labels.csv", "probabilities.parquet", "sets.npz", "couplings.png"}
    assert written <= {path.name for path in tmp_path.iterdir()}
