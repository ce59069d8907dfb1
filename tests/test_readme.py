"""The code blocks of the README run."""

import re
from pathlib import Path

README = Path(__file__).parent.parent / "README.md"


def test_python_blocks_run(capsys):
    blocks = re.findall(r"```python\n(.*?)```", README.read_text(), flags=re.DOTALL)
    assert blocks
    for block in blocks:
        exec(compile(block, str(README), "exec"), {})
    accuracy = float(re.findall(r"[\d.]+", capsys.readouterr().out)[-1])
    assert accuracy > 0.95
