"""Multi-label data sets.

Mulan publishes .rar archives, which none of our dependencies can open. The repository
of the BOOMER project has the same ARFF files, byte for byte (its Git LFS pointers have
the checksums below), so they are downloaded from there.
"""

from __future__ import annotations

from crbm.datasets.entries.entry import MNIH, Entry, File

_MULAN = "https://mulan.sourceforge.net/datasets-mlc.html"
_BOOMER = "https://github.com/mrapp-ke/Boomer-Datasets/raw"
_TORONTO = "http://www.cs.toronto.edu/~larocheh/public/datasets"
_MANDEL = (
    "Mandel, Ellis: A web-based game for collecting music metadata. "
    "Journal of New Music Research, 2008."
)


def _boomer(commit: str, name: str) -> tuple[str, ...]:
    return (f"{_BOOMER}/{commit}/{name}",)


def _tags(name: str) -> tuple[File, ...]:
    """Files published without checksums; `assemble.tags` checks their sizes."""
    parts = (f"{name}/{name}_{part}.libsvm" for part in ("train", "valid", "test"))
    return tuple(File(part, None, (f"{_TORONTO}/{part}",)) for part in parts)


ENTRIES = (
    Entry(
        "yeast",
        "Yeast gene functions: 2417 x 103 -> 14",
        _MULAN,
        "Elisseeff, Weston: A kernel method for multi-labelled classification. "
        "NIPS, 2001.",
        files=(
            File(
                "mulan/yeast/yeast.arff",
                "55c07a3b6ff885ae338fb6987a1d57f55572b29809922c2822c4885c61230dd7",
                _boomer("73db96cbcc8cc8891830fc86827617e4a8e7f033", "yeast.arff"),
            ),
        ),
        embedded="river",
    ),
    Entry(
        "scene",
        "Scene photographs: 2407 x 294 -> 6",
        _MULAN,
        "Boutell, Luo, Shen, Brown: Learning multi-label scene classification. "
        "Pattern Recognition, 2004.",
        files=(
            File(
                "mulan/scene/scene-train.arff",
                "b53ba93bdf412de922e3960389bcee24744fa3e872ce610511fc1d750888b64d",
                _boomer(
                    "7e587cb68234bf7628aef6ed0a5c2df8a4eb519e", "scene_training.arff"
                ),
            ),
            File(
                "mulan/scene/scene-test.arff",
                "ea38d20296b3ff7e220f477a3b802a9bcb2d768881fe6ee163efbc97ea527a42",
                _boomer("e9738dbfd6631fb2e3a1c51807b598c04eb38133", "scene-test.arff"),
            ),
        ),
    ),
    Entry(
        "majmin",
        "MajMin music tags of the paper: 2538 x 389 -> 96",
        f"{_TORONTO}/majmin/",
        f"{_MANDEL} Prepared by {MNIH}",
        files=_tags("majmin"),
    ),
    Entry(
        "mturk",
        "MTurk music tags of the paper: 915 x 389 -> 95",
        f"{_TORONTO}/mturk/",
        "Mandel, Eck, Bengio: Learning tags that vary within a song. ISMIR, 2010. "
        f"Prepared by {MNIH}",
        files=_tags("mturk"),
    ),
    Entry(
        "cal500",
        "CAL500 music tags: 502 x 68 -> 174",
        _MULAN,
        "Turnbull, Barrington, Torres, Lanckriet: Semantic annotation and retrieval "
        "of music and sound effects. IEEE TASLP 16(2), 2008.",
        files=(
            File(
                "mulan/cal500/cal500.arff",
                "cfe6097ba5fd6e8584e54911ab9783dcab34e898446b7c9370c71d477eae56d3",
                _boomer("fb12e0c02e62e7d4a94c5f1f26ba5a66c2f3d674", "cal500.arff"),
            ),
        ),
    ),
    Entry(
        "bibtex",
        "BibSonomy tags of papers, sparse: 7395 x 1836 -> 159",
        _MULAN,
        "Katakis, Tsoumakas, Vlahavas: Multilabel text classification for automated "
        "tag suggestion. ECML/PKDD Discovery Challenge, 2008.",
        files=(
            File(
                "mulan/bibtex/bibtex-train.arff",
                "8dcc9de6e0b2cebaec8c1f4fac78431adeeb73cfd3ab879b530a66d366e59174",
            ),
            File(
                "mulan/bibtex/bibtex-test.arff",
                "9b03329cde64d3f994bdf7fbbac3f3b10fe185c311cb9ae725475f59c7f3f922",
            ),
        ),
        alternatives=(
            File(
                "mulan/bibtex/bibtex.arff",
                "a282a6d1fb3cdaf39bde3f81cd4e6079850a7a538a6bc44f8b4ed95dfe1e5014",
                _boomer("e925d705fe09f4ce593cf162e953862d8a0cee76", "bibtex.arff"),
            ),
        ),
    ),
    Entry(
        "tmc2007-500",
        "Aviation safety reports, 500 words: 28596 x 500 -> 22",
        _MULAN,
        "Srivastava, Zane-Ulman: Discovering recurring anomalies in text reports "
        "regarding complex space systems. IEEE Aerospace Conference, 2005.",
        files=(
            File(
                "mulan/tmc2007-500/tmc2007-500-train.arff",
                "edfe7b7615c6f80e54c92a214437610d1ae36560c5cc6c4253b51c434d258273",
            ),
            File(
                "mulan/tmc2007-500/tmc2007-500-test.arff",
                "b24f9c3f1eba77c9da0bbaff093ba41d331b7351be0167a8e1e3852c62e25e38",
            ),
        ),
    ),
    Entry(
        "corel5k",
        "Words of Corel photographs, sparse: 5000 x 499 -> 374",
        _MULAN,
        "Duygulu, Barnard, de Freitas, Forsyth: Object recognition as machine "
        "translation. ECCV, 2002.",
        files=(
            File(
                "mulan/corel5k/corel5k-train-sparse.arff",
                "19eb253c447144bea74ffa86b4731a56022addae2ba7d0aab72ad07fdc02e9b3",
            ),
            File(
                "mulan/corel5k/corel5k-test-sparse.arff",
                "e8f8e9cd052c43ba7bdfdf99d242f461fc8c2a03163466d921e576887b51d8a7",
            ),
        ),
    ),
    Entry(
        "delicious",
        "Delicious bookmarks, sparse: 16105 x 500 -> 983",
        _MULAN,
        "Tsoumakas, Katakis, Vlahavas: Effective and efficient multilabel "
        "classification in domains with large number of labels. MMD, 2008.",
        files=(
            File(
                "mulan/delicious/delicious.npz",
                "cd05acea3e7f9ed4714050bbee79e9d7af3ddfd9c7c2df4ace8bf2226121dbc0",
            ),
        ),
        alternatives=(
            File(
                "mulan/delicious/delicious_training.arff",
                "80a61bef3df2d86d2135878424aa8f69d9c97aa8729b32a1b5f8ed7600afca0d",
                _boomer(
                    "f7e13d57a83f95c00098252641d69f78a8d0c204",
                    "delicious_training.arff",
                ),
            ),
            File(
                "mulan/delicious/delicious_test.arff",
                "ed516b88a76c1f1537ae5726f086b8b63a8db46a021c6bf69d9af62c84bd6dc4",
                _boomer(
                    "f7e13d57a83f95c00098252641d69f78a8d0c204", "delicious_test.arff"
                ),
            ),
        ),
    ),
    Entry(
        "majorminer",
        "MajorMiner clips, Essentia features: 2359 x 918 -> 40",
        "http://majorminer.org/info/intro",
        _MANDEL,
        files=(
            File(
                "majorminer/majorminer_essentia.npz",
                "39b32473e66d64cfdad000b5b0de4b48e00c1ab7d5f8c1d829417f17345eb593",
            ),
        ),
    ),
)
