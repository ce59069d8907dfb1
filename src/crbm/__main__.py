"""`python -m crbm`: the command line without an installed script."""

from crbm.cli import app

app(prog_name="crbm")
