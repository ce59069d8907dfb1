"""The code blocks of the documentation run, page by page."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", ROOT / "docs" / "multilabel.md"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_python_blocks_run(page, capsys):
    blocks = re.findall(r"```python\n(.*?)```", page.read_text(), flags=re.DOTALL)
    assert blocks
    names = {}
    for block in blocks:
        exec(compile(block, str(page), "exec"), names)
    if page.name == "README.md":
        accuracy = float(re.findall(r"[\d.]+", capsys.readouterr().out)[-1])
        assert accuracy > 0.95
