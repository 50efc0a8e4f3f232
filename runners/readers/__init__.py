"""Readers that turn raw files of runs and of load tools into data frames; they start no process and open no socket."""
