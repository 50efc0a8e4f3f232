"""Where a test runs: in every run of the tests, or in `make test-long` alone."""

from __future__ import annotations

import os

LONG = os.environ.get("LAB_LONG") == "1"
#: A test with one of these markers runs in `make test-long` alone: `timed` asserts times, `long` takes many seconds.
LONG_MARKERS = ("timed", "long")
#: How the reason of such a skip begins; the driver counts them by it.
ONLY_LONG = "make test-long runs it"
