"""Frames to verdicts, causes and sentences."""
