"""The files for contributors agree with the package."""

import re
import tomllib
from pathlib import Path

import pytest
import yaml

import crbm
from test_layering import LAYERS

ROOT = Path(__file__).parent.parent
CONFIGURATION = (
    "CITATION.cff",
    "mkdocs.yml",
    ".pre-commit-config.yaml",
    ".github/workflows/ci.yml",
)


def read(name):
    return yaml.safe_load((ROOT / name).read_text())


@pytest.mark.parametrize("name", CONFIGURATION)
def test_configuration_is_valid_yaml(name):
    assert isinstance(read(name), dict)


def test_citation_has_the_version_of_the_package():
    assert str(read("CITATION.cff")["version"]) == crbm.__version__


def test_changelog_has_the_version_of_the_package():
    text = (ROOT / "CHANGELOG.md").read_text()
    released = re.findall(r"^## (\d\S+) - (\S+)$", text, flags=re.MULTILINE)
    assert released[0] == (crbm.__version__, str(read("CITATION.cff")["date-released"]))


def test_ci_tests_the_oldest_and_the_pinned_torch():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    oldest = next(
        re.sub("torch>=", "", name)
        for name in project["dependencies"]
        if name.startswith("torch>=")
    )
    pinned = re.search(r"^torch==(\S+)$", (ROOT / "constraints.txt").read_text(), re.M)
    matrix = read(".github/workflows/ci.yml")["jobs"]["test"]["strategy"]["matrix"]
    assert matrix["torch"] == [f"{oldest}.0", pinned[1]]
    assert f">={matrix['python'][0]}" == project["requires-python"]


def test_contributing_links_every_guide():
    text = (ROOT / "CONTRIBUTING.md").read_text()
    pages = {path.name for path in (ROOT / "docs" / "developer").glob("*.md")}
    assert set(re.findall(r"docs/developer/(\w+\.md)", text)) == pages


def test_design_page_has_the_layers():
    page = (ROOT / "docs" / "developer" / "design.md").read_text()
    block = re.search(r"^## Layers.*?^```\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    rows = [re.split(r"\s{2,}", line)[0] for line in block[1].splitlines()]
    shown = [tuple(re.split(r", | \| ", row)) for row in rows]
    assert shown == [row for row in LAYERS if row != ("__main__",)]
