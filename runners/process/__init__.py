"""Processes: start, watch and stop them, and place them on cores."""
