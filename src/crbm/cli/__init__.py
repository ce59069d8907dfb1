"""The command line: parse the arguments, call one function, print its result.

Modules here import `crbm.commands`, `crbm.datasets` and `crbm.web` inside functions, so
that `crbm --help` and shell completion do not wait for torch.
"""

from crbm.cli.main import app

__all__ = ["app"]
