"""The design of experiments: targets, loads, sessions and blocks, as validated values."""
