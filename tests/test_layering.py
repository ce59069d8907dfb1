"""Imports go one way; this reads them off the source files."""

import ast
from pathlib import Path

import pytest

import crbm

ROOT = Path(crbm.__file__).parent

# Each part may import those of the rows above it, and of its own row only itself.
# The bottom row is shared vocabulary, in the order in which it builds on itself.
LAYERS = (
    (
        "checks",
        "types",
        "kernels",
        "sampling",
        "units",
        "messages",
        "paths",
        "persistence",
    ),
    ("energies",),
    ("models", "inference", "hashing"),
    ("objectives",),
    ("training", "metrics", "decisions", "preprocessing", "stratification"),
    ("estimators", "datasets"),
    ("plotting", "export", "dask"),
    ("commands",),
    ("web",),
    ("cli",),
    ("__main__",),
)
VOCABULARY = LAYERS[0]
DEPTH = {part: depth for depth, row in enumerate(LAYERS) for part in row}


def part_of(path):
    """The part a source file belongs to: its folder or its own name."""
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def imported_parts(source):
    """The parts of crbm that a source text imports."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        found |= {name.split(".")[1] for name in names if name.startswith("crbm.")}
    return found


def allowed(part, other):
    """Whether one part may import another."""
    if part == other:
        return True
    if part in VOCABULARY and other in VOCABULARY:
        return VOCABULARY.index(other) < VOCABULARY.index(part)
    return DEPTH[other] < DEPTH[part]


FILES = [p for p in sorted(ROOT.rglob("*.py")) if p != ROOT / "__init__.py"]


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_a_file_imports_only_what_lies_below_it(path):
    part = part_of(path)
    assert part in DEPTH, f"`{part}` is in no layer; give it one here and in the docs"
    imported = imported_parts(path.read_text())
    wrong = [other for other in imported if not allowed(part, other)]
    assert not wrong, f"{part} must not import {wrong}"


REPOSITORY_PACKAGES = {"paper", "benchmarks", "demo"}


def packages_at_import(source):
    """The packages that a module imports when it is imported itself."""
    found, open_nodes = set(), [ast.parse(source)]
    while open_nodes:
        node = open_nodes.pop()
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            found.add(node.module.split(".")[0])
        elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            open_nodes += ast.iter_child_nodes(node)
    return found


@pytest.mark.parametrize(
    "path", sorted(ROOT.rglob("*.py")), ids=lambda p: str(p.relative_to(ROOT))
)
def test_the_library_can_be_imported_without_the_rest_of_the_repository(path):
    assert not packages_at_import(path.read_text()) & REPOSITORY_PACKAGES


def test_imports_inside_functions_do_not_run_at_import():
    source = "import a.b\nif x:\n    from c.d import e\ndef f():\n    import g"
    assert packages_at_import(source) == {"a", "c"}


def test_relative_imports_are_not_used():
    for path in FILES:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom):
                assert node.level == 0, path


def test_the_reader_of_imports_sees_them():
    source = "import crbm.web\nfrom crbm.models import CRBM\nfrom crbm import training"
    assert imported_parts(source) == {"web", "models", "training"}
    assert not allowed("inference", "models")
    assert not allowed("types", "sampling")
    assert not allowed("objectives", "training")
    assert allowed("training", "objectives")
