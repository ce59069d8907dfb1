"""Match image files with mask files by name."""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from itertools import product, takewhile
from pathlib import Path

from crbm.datasets.images.decoding import ENDINGS
from crbm.messages import one_line

_SEPARATORS = "-_. "


def image_files(folder: Path) -> list[Path]:
    """The image files of a folder, with numbers in names in their order.

    Hidden files, files with other endings and subfolders are left out.
    """
    if not folder.is_dir():
        kind = "is a file" if folder.exists() else "does not exist"
        raise FileNotFoundError(
            f"`{folder}` {kind}; a folder of images is needed ({', '.join(ENDINGS)})."
        )
    others: list[Path] = []
    found: list[Path] = []
    for entry in sorted(folder.iterdir()):
        is_image = entry.suffix.lower() in ENDINGS and not entry.name.startswith(".")
        (found if is_image and entry.is_file() else others).append(entry)
    if not found:
        raise ValueError(one_line(_empty_message(folder, others)))
    return sorted(found, key=lambda path: _natural(path.name))


def match(images: Sequence[Path], masks: Sequence[Path]) -> list[Path]:
    """The mask of each image: the file of the same name, apart from endings.

    If names are not the same, what all names of a folder have in common is left out, as
    in `image-7.png` and `mask-7.png` or `7.jpg` and `7_labels.png`. Masks without an
    image give a warning.

    Raises
    ------
    ValueError
        If an image has no mask, or two files have the same name.

    Examples
    --------
    >>> images = [Path("image-1.png"), Path("image-2.png")]
    >>> [mask.name for mask in match(images, [Path("mask-2.png"), Path("mask-1.png")])]
    ['mask-1.png', 'mask-2.png']
    """
    if len(images) == len(masks) == 1:
        return list(masks)
    keys, by_key = _best_keys(images, masks)
    lacking = [
        path for path, key in zip(images, keys, strict=True) if key not in by_key
    ]
    extra = [by_key[key] for key in by_key.keys() - set(keys)]
    if lacking:
        raise ValueError(one_line(_mismatch(images, masks, lacking, extra)))
    if extra:
        name = min(path.name for path in extra)
        warnings.warn(
            f"{len(extra)} of {len(masks)} masks have no image, such as `{name}`; they "
            "are not used.",
            stacklevel=2,
        )
    return [by_key[key] for key in keys]


def _best_keys(
    images: Sequence[Path], masks: Sequence[Path]
) -> tuple[list[str], dict[str, Path]]:
    """Keys of the images and masks by key, cut such that most images have a mask."""
    best: tuple[list[str], dict[str, Path]] | None = None
    n_best = -1
    for of_images, of_masks in product(_cuts(images), _cuts(masks)):
        keys = list(_by_key(images, *of_images))
        by_key = _by_key(masks, *of_masks)
        n_found = sum(key in by_key for key in keys)
        if n_found > n_best:
            best, n_best = (keys, by_key), n_found
        if n_best == len(images):
            break
    assert best is not None
    return best


def _cuts(files: Sequence[Path]) -> list[tuple[int, int]]:
    """How many characters to cut from the front and back of each name."""
    stems = [path.stem for path in files]
    front, back = _common_front(stems), _common_back(stems)
    shortest = min(map(len, stems))
    cuts = [(0, 0), (front, back), (front, 0), (0, back)]
    return [cut for cut in dict.fromkeys(cuts) if sum(cut) < shortest]


def _common_front(stems: Sequence[str]) -> int:
    """The length of a common beginning that ends at a separator or before a number."""
    pairs = zip(min(stems), max(stems), strict=False)
    common = "".join(
        one for one, _ in takewhile(lambda pair: pair[0] == pair[1], pairs)
    )
    while common and common[-1] not in _SEPARATORS:
        starts_number = all(stem[len(common) :][:1].isdigit() for stem in stems)
        if starts_number and not common[-1].isdigit():
            break
        common = common[:-1]
    return len(common)


def _common_back(stems: Sequence[str]) -> int:
    """The same for the end: it starts at a separator or after a number."""
    turned = [stem[::-1] for stem in stems]
    return _common_front(turned)


def _by_key(files: Sequence[Path], front: int, back: int) -> dict[str, Path]:
    found: dict[str, Path] = {}
    for path in files:
        key = path.stem[front : len(path.stem) - back]
        if key in found:
            raise ValueError(
                one_line(
                    f"`{found[key]}` and `{path.name}` have the same name; rename one."
                )
            )
        found[key] = path
    return found


def _natural(name: str) -> list[tuple[int, str]]:
    """A sort key in which `a10` comes after `a9`."""
    parts = re.findall(r"\d+|\D+", name)
    return [(int(p), "") if p.isdecimal() else (-1, p) for p in parts]


def _empty_message(folder: Path, others: Sequence[Path]) -> str:
    folders = [path.name for path in others if path.is_dir()]
    if folders:
        there = f"there are folders, such as `{folders[0]}`; name the one with images"
    elif others:
        there = f"there are {len(others)} others, such as `{others[0].name}`"
    else:
        there = "the folder is empty"
    return f"`{folder}` has no image files ({', '.join(ENDINGS)}); {there}."


def _mismatch(
    images: Sequence[Path],
    masks: Sequence[Path],
    lacking: Sequence[Path],
    extra: Sequence[Path],
) -> str:
    also = ""
    if extra:
        names = ", ".join(
            f"`{name}`" for name in sorted(path.name for path in extra)[:3]
        )
        also = f" {len(extra)} masks have no image, such as {names}."
    names = ", ".join(f"`{path.name}`" for path in lacking[:3])
    return (
        f"{len(lacking)} of {len(images)} images have no mask in `{masks[0].parent}`, "
        f"such as {names}.{also} Give an image and its mask the same name, or names "
        "that differ only in what all images or all masks have in common."
    )
