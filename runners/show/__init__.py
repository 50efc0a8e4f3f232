"""Frames and verdicts to figures, flame graphs and reports."""
