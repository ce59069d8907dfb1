"""Arrow files whose offsets point outside of them, and names with control codes."""

import pandas as pd
import pytest

from crbm import datasets


def test_offsets_outside_of_an_arrow_file_are_refused(tmp_path):
    file = tmp_path / "a.arrow"
    words = ["one", "three", "seventeen"]
    frame = pd.DataFrame({"word": words, "y": [0, 1, 0]})
    frame.to_feather(file, compression="uncompressed")
    offsets = b"".join(n.to_bytes(4, "little") for n in (0, 3, 8, 17))
    wrong = offsets[:8] + (2).to_bytes(4, "little") + offsets[12:]  # 3, then 2
    content = file.read_bytes()
    if offsets not in content:  # of large strings: eight bytes each
        offsets, wrong = (
            b"".join(x[i : i + 4] + bytes(4) for i in range(0, 16, 4))
            for x in (offsets, wrong)
        )
    assert content.count(offsets) == 1
    file.write_bytes(content.replace(offsets, wrong))
    with pytest.raises(ValueError, match=r"a\.arrow.*not a complete Arrow file"):
        datasets.read(file, labels=["y"], raw=True)


def test_control_characters_in_a_column_name_are_escaped(tmp_path):
    file = tmp_path / "a.jsonl"
    file.write_text('{"x": 1, "y\\u001b": "a"}\n{"x": 2, "y\\u001b": "a"}\n')
    with pytest.raises(ValueError, match=r"a.jsonl.*Column y\\x1b of `Y`"):
        datasets.read(file, labels=-1, raw=True)
