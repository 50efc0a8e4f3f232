"""Settings of all tests."""

from __future__ import annotations

from hypothesis import settings

# a time limit on each example is a timed assertion: it fails on a busy machine and tells nothing of the code
settings.register_profile("lab", deadline=None)
settings.load_profile("lab")
