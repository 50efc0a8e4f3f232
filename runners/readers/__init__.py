"""Readers of raw files as typed frames; they start no process and open no socket."""
