"""`crbm.web` with a missing extra, and with sources that are not installed."""

import subprocess
import sys

import pytest


def run(code):
    """The last line of stderr of a fresh interpreter."""
    command = [sys.executable, "-c", code]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    return found.stderr.splitlines()[-1] if found.returncode else ""


@pytest.mark.parametrize("missing", ["fastapi", "uvicorn", "prometheus_client"])
def test_a_missing_package_is_named_with_its_extra(missing):
    error = run(f"import sys; sys.modules['{missing}'] = None\nimport crbm.web")
    assert error == (
        f"ImportError: `crbm.web` needs `{missing}`. "
        "Install it with `pip install 'crbm[web]'`."
    )


def test_the_application_needs_no_installed_distribution():
    code = (
        "from importlib import metadata\n"
        "real = metadata.version\n"
        "def version(name):\n"
        "    if name == 'crbm': raise metadata.PackageNotFoundError(name)\n"
        "    return real(name)\n"
        "metadata.version = version\n"
        "import crbm, crbm.web\n"
        "assert crbm.web.create_app({}).version == crbm.__version__\n"
    )
    assert run(code) == ""
