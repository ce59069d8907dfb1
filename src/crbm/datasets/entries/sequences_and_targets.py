"""Sequences, and tables with several numbers to predict."""

from __future__ import annotations

from crbm.datasets.entries.entry import Entry, File


def _multi_target(name: str, title: str, sha256: str) -> Entry:
    return Entry(
        name,
        title,
        "https://mulan.sourceforge.net/datasets-mtr.html",
        "Spyromitros-Xioufis, Tsoumakas, Groves, Vlahavas: Multi-target regression "
        "via input space expansion. Machine Learning 104, 2016.",
        files=(File(f"multi-target/{name}.arff", sha256),),
    )


ENTRIES = (
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
