"""The server's benchmark: its comparisons can be told apart and chosen."""

from __future__ import annotations

from runners.bench.server import COMPARISONS, wants


def test_comparisons_have_names_of_their_own_and_can_be_chosen_by_a_word() -> None:
    names = [comparison.name for comparison in COMPARISONS]
    assert len(set(names)) == len(names)
    assert wants("server/noop/64conn/pool-vs-selector", ["pool-vs"])
    assert not wants("server/noop/64conn/pool-vs-selector", ["bare"])
    assert all(wants(name, []) for name in names)
