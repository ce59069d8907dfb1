"""Run the command line with `python -m crbm`."""

from crbm.cli import app

app(prog_name="crbm")
