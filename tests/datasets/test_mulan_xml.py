from __future__ import annotations

import pytest

from crbm.datasets.formats import mulan_xml

NAMES = ["Beach", "a & b", '"quoted"', "<tag>", "été"]


def test_round_trip(tmp_path):
    mulan_xml.write(tmp_path / "a.xml", NAMES)
    assert mulan_xml.read(tmp_path / "a.xml") == tuple(NAMES)


def test_nested_labels_follow_their_parent(put):
    text = '<labels><label name="a"><label name="b"/></label><label name="c"/></labels>'
    assert mulan_xml.read(put("a.xml", text)) == ("a", "b", "c")


LAUGHS = """<?xml version="1.0"?>
<!DOCTYPE labels [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;">]>
<labels><label name="&b;"/></labels>
"""


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "file is empty"),
        ("<labels></labels>", "no labels"),
        ("<?xml version='1.0' encoding='utv'?><labels/>", "unknown encoding: utv."),
        ('<labels>\n<label name="a"/>', "line 2: not well-formed XML"),
        (
            '<labels>\n<label name="a"/>\n<label name="a"/></labels>',
            "line 3: label `a` is already on line 2",
        ),
        ("<labels>\n<label/></labels>", "line 2: a label has no `name`"),
        (LAUGHS, "line 2: document types and entities are not allowed"),
        (LAUGHS.encode("utf-16").replace(b"1.0", b"1.0"), "not allowed"),
        ('<!DOCTYPE labels SYSTEM "file:///etc/passwd"><labels/>', "line 1: document"),
    ],
)
def test_damage_is_named_with_its_line(put, text, message):
    path = put("bad.xml", text)
    with pytest.raises(ValueError, match=message) as caught:
        mulan_xml.read(path)
    assert str(path) in str(caught.value)
