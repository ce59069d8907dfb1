from __future__ import annotations

import time

import numpy as np
import pytest
from scipy.sparse import issparse

from crbm.datasets import read, write
from crbm.datasets.formats import arff_writer, mulan_xml

DENSE = """% made up
@relation 'pets: -C 2'

@attribute dog {0,1}
@attribute 'old cat' {0, 1}
@attribute weight\tnumeric
@attribute legs integer
@data
% first row
1,0,30.5,4

0,1,4,3.5
"""
SPARSE = """@relation words
@attribute cat {0,1}
@attribute dog {0,1}
@attribute count numeric
@attribute LABEL_a {0,1}
@data
{0 1,2 2.5,3 1}
{}
{1 1}
"""


def test_meka_counts_labels_from_the_front(put):
    data = read(put("pets.arff", DENSE))
    assert data.label_names == ("dog", "old cat")
    assert data.feature_names == ("weight", "legs")
    assert data.X.tolist() == [[30.5, 4], [4, 3.5]]
    assert data.Y.tolist() == [[1, 0], [0, 1]]


def test_meka_counts_labels_from_the_back_if_negative(put):
    data = read(
        put(
            "pets.arff",
            DENSE.replace("-C 2", "-C -1").replace("3.5", "1").replace(",4\n", ",0\n"),
        )
    )
    assert data.label_names == ("legs",)
    assert data.Y.tolist() == [[0], [1]]


def test_mulan_takes_the_order_of_the_arff_file(put):
    path = put("words.arff", SPARSE)
    xml = path.with_name("other.xml")
    mulan_xml.write(xml, ["LABEL_a", "dog"])
    for labels in (xml, str(xml)):
        assert read(path, labels=labels).label_names == ("dog", "LABEL_a")


def test_the_xml_file_beside_is_found(put):
    path = put("words.arff", SPARSE)
    mulan_xml.write(path.with_suffix(".xml"), ["LABEL_a"])
    data = read(path)
    assert issparse(data.X)
    assert data.X.toarray().tolist() == [[1, 0, 2.5], [0, 0, 0], [0, 1, 0]]
    assert data.Y.tolist() == [[1], [0], [0]]


def test_names_come_in_the_order_given(put):
    data = read(put("pets.arff", DENSE), labels=["old cat", "dog"])
    assert data.Y.tolist() == [[0, 1], [1, 0]]


def test_round_trip(tmp_path, small, assert_same):
    file = tmp_path / "small.arff"
    write(file, small)
    assert_same(read(file), small)


def test_round_trip_through_mulan_xml(tmp_path, small, assert_same):
    file = tmp_path / "small.arff"
    arff_writer.write(file, small, xml=True)
    text = file.read_text()
    file.write_text(text.replace("-C -2", ""))
    assert_same(read(file), small)


def test_a_name_that_would_not_travel_is_refused(tmp_path, small):
    object.__setattr__(small, "label_names", ("its'", "b"))
    with pytest.raises(ValueError, match=r"the name \"its'\" cannot be written safely"):
        write(tmp_path / "a.arff", small)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "file is empty"),
        ("@relation r\n@attribute a numeric\n", "no `@data` line"),
        (DENSE.replace("1,0,30.5,4", "").replace("0,1,4,3.5", ""), "no rows after"),
        (DENSE.replace("0,1,4,3.5", "0,1,4"), "line 12: the row does not match"),
        (DENSE.replace("0,1,4,3.5", "0,2,4,3"), "line 12: Data value 2 not found"),
        (DENSE.replace("30.5", "heavy"), "line 10: Invalid numerical value"),
        (DENSE.replace("30.5", "?"), "line 10: a value is NaN or missing"),
        (DENSE.replace("30.5", "nan"), "line 10: a value is NaN or missing"),
        (DENSE.replace("30.5", "1e39"), "line 10: 1e[+]39 does not fit a 32-bit"),
        (DENSE.replace("0,1,4,3.5", "0,?,4,3"), "line 12: a label must be 0 or 1"),
        (DENSE.replace("'old cat'", "dog"), "line 5: Bad @ATTRIBUTE name dog"),
        (DENSE.replace("integer", "strange"), "line 7: Bad @ATTRIBUTE type"),
        (DENSE.replace("integer", "string"), "attribute `legs` is text"),
        (DENSE.replace("integer", "{4,3.5,four}"), "`legs` has the value `four`"),
        (DENSE.replace("dog {0,1}", "dog {0,1,2}"), r"label `dog` must be \{0,1\}"),
        (DENSE.replace("-C 2", "-C 9"), "9 labels requested; there are 4 columns"),
        (DENSE.replace("-C 2", ""), "does not say which attributes are labels"),
        (DENSE.replace("{0, 1}", "{0,1"), "line 5"),
        (SPARSE.replace("words", "'w: -C -1'").replace("{1 1}", "{9 1}"), "line 9: "),
        (
            SPARSE.replace("words", "'w: -C -1'").replace("{1 1}", "{1 1,1 0}"),
            "line 9: the row has an attribute twice",
        ),
        (SPARSE.replace("words", "'w: -C -1'").replace("3 1", "3 ?"), "line 7: a va"),
        (
            SPARSE.replace("words", "'w: -C -1'").replace("cat {0,1}", "cat {1,0}"),
            "attribute `cat` omits `1`, not 0, in sparse rows",
        ),
        (SPARSE.replace("words", "'w: -C -2'"), "line 7: a label must be 0 or 1"),
    ],
)
def test_damage_is_named_with_its_line(put, text, message):
    path = put("bad.arff", text)
    with pytest.raises(ValueError, match=message) as caught:
        read(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_unknown_and_repeated_labels_are_refused(put):
    path = put("pets.arff", DENSE)
    with pytest.raises(
        ValueError, match=r"label `dgo` is not a column.*Did you mean `dog`"
    ):
        read(path, labels=["dgo"])
    with pytest.raises(ValueError, match="label name `dog` appears twice"):
        read(path, labels=["dog", "dog"])


def test_text_that_is_not_utf8_is_named_with_its_line(put):
    path = put("latin.arff", DENSE.replace("made up", "caf\xe9").encode("latin-1"))
    with pytest.raises(ValueError, match="line 1: not UTF-8"):
        read(path)


def test_a_crafted_declaration_takes_no_exponential_time(put):
    values = "0," * 24 + "b c"
    path = put("slow.arff", DENSE.replace("{0, 1}", f"{{{values}}}"))
    start = time.perf_counter()
    with pytest.raises(ValueError, match="line 5: a nominal attribute"):
        read(path)
    assert (
        time.perf_counter() - start < 1
    )  # liac-arff alone: 6 s, doubling with each value


def test_sparse_values_become_float32(put):
    text = SPARSE.replace("words", "'w: -C -1'").replace("2.5", "0.1")
    assert read(put("w.arff", text)).X.dtype == np.float32


def test_wekas_escapes_in_names(put, tmp_path, small, assert_same):
    """As in Delicious: the ARFF and the XML file both write a quote as \\'."""
    text = SPARSE.replace("LABEL_a", r"'m\'usica'").replace("dog", r"dise\~no")
    path = put("words.arff", text)
    mulan_xml.write(path.with_suffix(".xml"), [r"m\'usica"])
    data = read(path)
    assert data.label_names == ("m'usica",)
    assert data.feature_names == ("cat", r"dise\~no", "count")
    write(tmp_path / "again.arff", data)
    assert_same(read(tmp_path / "again.arff"), data)
