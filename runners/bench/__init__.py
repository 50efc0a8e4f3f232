"""Benchmarks: ours and a peer, interleaved in one run, and their ratio. Figures, never tests."""
