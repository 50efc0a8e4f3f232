"""Readers that turn raw files of runs and of load tools into typed frames; they start no process and open no socket."""
