"""Binary codes packed into integers, and the masks of their Hamming neighbours."""

from __future__ import annotations

from functools import lru_cache
from math import comb

import numpy as np
from jaxtyping import UInt8, UInt64

from crbm import checks

MAX_BITS = 62


def check_n_bits(n_bits: object) -> None:
    """Require a code length from 1 to `MAX_BITS`."""
    checks.whole_number("n_bits", n_bits, at_least=1)
    if int(n_bits) > MAX_BITS:  # type: ignore[call-overload]
        raise ValueError(
            f"`n_bits` must be at most {MAX_BITS}, so that a code fits into one "
            f"integer; got {n_bits}. Codes of 5 to 30 bits are usual."
        )


def pack(bits: UInt8[np.ndarray, "n bits"]) -> UInt64[np.ndarray, " n"]:
    """Codes as integers; the first bit is the most significant.

    Examples
    --------
    >>> pack(np.array([[0, 1, 1], [1, 0, 0]], dtype=np.uint8)).tolist()
    [3, 4]
    """
    codes = np.zeros(len(bits), dtype=np.uint64)
    for column in bits.T:
        codes <<= np.uint64(1)
        codes |= column.astype(np.uint64)
    return codes


def ring_size(n_bits: int, distance: int) -> int:
    """The number of codes that differ from a given one in exactly `distance` bits."""
    return comb(n_bits, distance)


def ball_size(n_bits: int, radius: int) -> int:
    """The number of codes that differ from a given one in at most `radius` bits.

    Examples
    --------
    >>> ball_size(7, 1)  # the paper's n + 1 look-ups
    8
    """
    return sum(ring_size(n_bits, distance) for distance in range(radius + 1))


@lru_cache(maxsize=64)
def ring(n_bits: int, distance: int) -> UInt64[np.ndarray, " masks"]:
    """Masks that XOR a code into all codes at exactly `distance`, ascending.

    Examples
    --------
    >>> [f"{mask:04b}" for mask in ring(4, 2).tolist()]
    ['0011', '0101', '0110', '1001', '1010', '1100']
    """
    masks = np.zeros(1, dtype=np.uint64)
    tops = np.uint64(1) << np.arange(n_bits, dtype=np.uint64)
    for _ in range(distance):
        # Add a bit above the highest one of each mask, so that none is repeated.
        masks = np.concatenate([masks[masks < top] | top for top in tops])
    masks.flags.writeable = False
    return masks


def ball(n_bits: int, radius: int) -> UInt64[np.ndarray, " masks"]:
    """Masks that XOR a code into all codes within `radius`, nearest first.

    Examples
    --------
    >>> ball(4, 1).tolist()
    [0, 1, 2, 4, 8]
    """
    return np.concatenate([ring(n_bits, distance) for distance in range(radius + 1)])
