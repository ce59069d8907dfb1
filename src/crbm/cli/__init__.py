"""The command line: one function call per command, no logic."""

from crbm.cli.main import app

__all__ = ["app"]
