"""Start, identify and stop what is measured."""
