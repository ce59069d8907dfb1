"""Damage bytes, descriptions and tensors at random."""

from __future__ import annotations

import copy
import random
from typing import Any

import torch
from torch import Tensor

# Words that mean something to some parser.
WORDS = [
    b"\0", b"\n", b"\r\n", b'"', b"'", b"\\", b",", b";", b":", b"{", b"}", b"[", b"]",
    b"<", b">", b"&x;", b"%", b"@data\n", b"@attribute x ", b"nan", b"inf", b"1e999",
    b"-1", b"9" * 30, b"0x1f", b"\xff", b"\xff\xfe", b"\xef\xbb\xbf", b"\x1b[2J",
    b"\x1f\x8b", b"PK\x03\x04", b"true", b"null", b"?", b"1_0", b"\xed\xa0\x80",
    b"<!DOCTYPE a [<!ENTITY x 'y'>]>", b"encoding='x'",
]  # fmt: skip
VALUES: list[Any] = [
    None, True, -1, 0, 1, 2**63, 10**400, 6 * 10**8, 0.5, -0.0, 1e-300, 1e300,
    float("nan"), float("inf"), "", "x", "x" * 10_000, "\x1b[2J\n", "\ud800", [], [[]],
    [None], {}, {"a": 1}, {"objective": "ContrastiveDivergence"},
    {"inference": "exact.marginals"}, {"torch.optim": "LBFGS"},
]  # fmt: skip


def mutate(content: bytes, rng: random.Random) -> bytes:
    """The bytes with one to four changes."""
    for _ in range(rng.choice([1, 1, 1, 2, 4])):
        content = rng.choice(_CHANGES)(content, rng)
    return content


def _flip(content: bytes, rng: random.Random) -> bytes:
    found = bytearray(content)
    if found:
        found[rng.randrange(len(found))] ^= 1 << rng.randrange(8)
    return bytes(found)


def _overwrite(content: bytes, rng: random.Random) -> bytes:
    place = rng.randrange(len(content) + 1)
    patch = rng.randbytes(rng.randint(1, 8))
    return content[:place] + patch + content[place + len(patch) :]


def _insert(content: bytes, rng: random.Random) -> bytes:
    place = rng.randrange(len(content) + 1)
    return content[:place] + rng.choice(WORDS) + content[place:]


def _remove(content: bytes, rng: random.Random) -> bytes:
    start = rng.randrange(len(content) + 1)
    return content[:start] + content[start + rng.randint(1, 40) :]


def _repeat(content: bytes, rng: random.Random) -> bytes:
    start = rng.randrange(len(content) + 1)
    part = content[start : start + rng.randint(1, 60)]
    return content[:start] + part * rng.randint(2, 50) + content[start + len(part) :]


def _cut(content: bytes, rng: random.Random) -> bytes:
    return content[: rng.randrange(len(content) + 1)]


_CHANGES = [_flip, _overwrite, _insert, _remove, _repeat, _cut]


def mutate_description(tree: Any, rng: random.Random) -> Any:
    """A copy of nested plain data with one value changed, removed or added."""
    tree = copy.deepcopy(tree)
    places = list(_places(tree))
    if not places:
        return rng.choice(VALUES)
    parent, key = rng.choice(places)
    how = rng.random()
    if how < 0.7:
        parent[key] = copy.deepcopy(rng.choice(VALUES))
    elif how < 0.85:
        del parent[key]
    elif isinstance(parent, dict):
        parent[rng.choice(["x", "base", "\n"])] = copy.deepcopy(rng.choice(VALUES))
    else:
        parent.insert(key, copy.deepcopy(rng.choice(VALUES)))
    return tree


def _places(tree: Any) -> Any:
    """Every container and key in nested data."""
    items = tree.items() if isinstance(tree, dict) else enumerate(tree)
    for key, value in list(items):
        yield tree, key
        if isinstance(value, dict | list):
            yield from _places(value)


def mutate_tensors(tensors: dict[str, Tensor], rng: random.Random) -> dict[str, Tensor]:
    """The tensors with one of them changed, removed, reshaped or of another type."""
    tensors = dict(tensors)
    name = rng.choice(sorted(tensors))
    tensor = tensors.pop(name)
    how = rng.randrange(6)
    if how == 1:
        tensors["x" + name] = tensor
    elif how == 2:
        tensors[name] = tensor.flatten()[: rng.randint(0, tensor.numel())].clone()
    elif how == 3:
        kinds = [torch.float64, torch.int8, torch.bool, torch.float16]
        tensors[name] = tensor.to(rng.choice(kinds))
    elif how >= 4:
        tensors[name] = _change_number(tensor, rng)
    return tensors


def _change_number(tensor: Tensor, rng: random.Random) -> Tensor:
    found = tensor.clone().contiguous()
    if found.numel():
        value = rng.choice([float("nan"), float("inf"), 1e38, -1e38, -1.0, 1e9])
        if not found.is_floating_point():
            value = rng.choice([-1, 0, 1, 100])
        found.view(-1)[rng.randrange(found.numel())] = value
    return found
