"""The code blocks of the data page run, and its table is the registry."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from crbm.datasets import names

PAGE = (Path(__file__).parents[2] / "docs" / "data.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)


@pytest.mark.parametrize("block", BLOCKS)
def test_the_blocks_run(block, capsys):
    exec(compile(block, "docs/data.md", "exec"), {})


def test_the_page_lists_every_name():
    listed = re.findall(r"^\| `([\w-]+)` \| \d", PAGE, flags=re.MULTILINE)
    assert sorted(listed) == sorted(names())
