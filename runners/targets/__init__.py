"""Start, identify and stop the servers under test."""
