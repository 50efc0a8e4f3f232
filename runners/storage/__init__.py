"""Runs on disk: run folders, step folders, archives. Only this package knows the names of the files in a run folder."""
