"""Runs on disk; no other package knows the name of a file in a run folder."""
