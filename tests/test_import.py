"""`import crbm` and `crbm --help` load the heavy dependencies only when needed."""

import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest

import crbm

HEAVY = {"torch", "sklearn", "scipy", "numpy", "pyarrow", "matplotlib", "fastapi"}
SUBMODULES = (
    "checks",
    "datasets",
    "decisions",
    "energies",
    "estimators",
    "hashing",
    "inference",
    "kernels",
    "metrics",
    "models",
    "objectives",
    "persistence",
    "plotting",
    "preprocessing",
    "sampling",
    "training",
    "types",
)


def loaded_by(code):
    """The heavy packages that a fresh interpreter has imported after this code."""
    code = f"{code}\nimport sys; print(*sorted({HEAVY!r} & sys.modules.keys()))"
    command = [sys.executable, "-c", code]
    shown = subprocess.run(command, capture_output=True, text=True, check=True)
    return set(shown.stdout.splitlines()[-1].split())


def test_importing_crbm_loads_nothing_heavy():
    assert loaded_by("import crbm; crbm.__version__") == set()


@pytest.mark.parametrize(
    "arguments", [[], ["train"], ["data", "list"], ["serve"], ["reproduce"]]
)
def test_help_loads_nothing_heavy(arguments):
    code = (
        f"from crbm.cli import app; app([*{arguments!r}, '--help'], prog_name='crbm')"
    )
    assert loaded_by(f"try:\n    {code}\nexcept SystemExit: pass") == set()


def test_completion_of_options_loads_nothing_heavy():
    words = {"_CRBM_COMPLETE": "complete_bash", "COMP_CWORD": "2"}
    words["COMP_WORDS"] = "crbm train --res"
    code = (
        f"import os; os.environ.update({words!r})\nfrom crbm.cli import app\n"
        "try: app(prog_name='crbm')\nexcept SystemExit: pass"
    )
    assert loaded_by(code) == set()


@pytest.mark.parametrize("kind", ["crbm", "pixels"])
def test_loading_a_model_does_not_load_torch_s_compiler(kind, tmp_path):
    """It takes longer than all other imports together."""
    X = [[0.0], [1.0], [2.0], [3.0]] * 5
    if kind == "crbm":
        model = crbm.CRBMClassifier(n_epochs=1).fit(X, [[x[0] > 1, 1] for x in X])
    else:
        images = np.random.default_rng(0).random((2, 8, 8))
        small = {"channels": (4,), "n_hidden": 2, "n_epochs": 1}
        model = crbm.PixelClassifier(**small).fit(images, (images > 0.5).astype(int))
    model.save(tmp_path / "m.safetensors")
    code = (
        f"import crbm, sys; crbm.load({str(tmp_path / 'm.safetensors')!r}); "
        "print('torch._dynamo' in sys.modules)"
    )
    command = [sys.executable, "-c", code]
    shown = subprocess.run(command, capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "False"


def test_heavy_packages_are_seen():
    """The tests above would notice an import."""
    assert {"torch", "numpy"} <= loaded_by("import crbm; crbm.CRBM")


@pytest.mark.parametrize("name", [*crbm.__all__, *SUBMODULES])
def test_each_name_is_imported_on_demand(name):
    assert crbm.__getattr__(name).__name__.split(".")[-1] == name
    assert name in dir(crbm)


def test_all_names_can_be_imported_with_a_star():
    code = "from crbm import *; CRBMClassifier, load, plotting.filters"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'crbm' has no attribute 'CRMB'"):
        crbm.CRMB  # noqa: B018
    with pytest.raises(ImportError, match="CRMB"):
        from crbm import CRMB  # noqa: F401


def test_static_readers_see_every_submodule():
    """Type checkers read names of the other packages through their star imports."""
    source = Path(crbm.__file__).read_text()
    block = source.split("if TYPE_CHECKING:")[1].split("__version__")[0]
    words = set(block.replace(",", " ").replace("(", " ").split())
    assert set(crbm._SUBMODULES) <= words
    assert {f"crbm.{name}" for name in ("estimators", "models")} <= words


def test_the_build_reads_the_version_from_the_package():
    root = Path(__file__).parents[1]
    project = tomllib.loads((root / "pyproject.toml").read_text())
    assert "version" in project["project"]["dynamic"]
    source = (root / project["tool"]["hatch"]["version"]["path"]).read_text()
    assert f'__version__ = "{crbm.__version__}"' in source
