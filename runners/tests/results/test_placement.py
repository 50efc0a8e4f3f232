"""Where keys lie: the hashes as their specifications have them, and as the server computes them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runners.results.cluster import HASHES, OBJECTS_HASH, RENDEZVOUS, Bytes, murmur3, shares, text_hash

NODES = tuple(f"http://127.0.0.1:{port}" for port in (20_007, 20_008, 20_009))


def _row(text: bytes) -> Bytes:
    return np.frombuffer(text, dtype=np.uint8)[None, :]


@pytest.mark.parametrize(
    ("text", "seed", "expected"),
    [
        (b"", 0, 0),
        (b"", 1, 0x514E28B7),
        (b"test", 0, 0xBA6BD213),
        (b"abc", 0, 0xB3DD93FA),
        (b"Hello, world!", 0x9747B28C, 0x24884CBA),
    ],
)
def test_murmur3_gives_its_known_values(text: bytes, seed: int, expected: int) -> None:
    assert int(murmur3(_row(text), seed)[0]) == expected


@given(st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=30))
def test_a_text_hash_is_that_of_java(text: str) -> None:
    expected = 0
    for letter in text:
        expected = (31 * expected + ord(letter)) % 2**32
    assert int(text_hash(_row(text.encode()))[0]) == expected


@given(st.integers(1, 3_000), st.integers(20_000, 29_000), st.sampled_from(HASHES))
def test_every_id_lies_on_one_node(ids: int, port: int, hashing: str) -> None:
    node_shares = shares(tuple(f"http://127.0.0.1:{port + place}" for place in range(3)), hashing, ids)
    assert len(node_shares) == 3 and sum(node_shares) == pytest.approx(1) and min(node_shares) >= 0


@given(st.integers(20_000, 29_000))
def test_the_old_hash_gives_one_node_of_ports_in_a_row_all_ids(port: int) -> None:
    node_shares = shares(tuple(f"http://127.0.0.1:{port + place}" for place in range(3)), OBJECTS_HASH, 2_000)
    assert max(node_shares) == 1 and node_shares.index(1) == 2, "the sum is largest for the highest port"


def test_murmur_spreads_ids_evenly_and_moves_only_those_of_a_node_that_leaves() -> None:
    node_shares = shares(NODES, RENDEZVOUS, 100_000)
    assert max(abs(share - 1 / 3) for share in node_shares) < 0.01
    without = shares(NODES[:2], RENDEZVOUS, 100_000)
    assert all(less <= more for less, more in zip(node_shares, without, strict=False))
