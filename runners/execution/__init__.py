"""Run what an experiment plans: steps, searches, interleaved rounds, resume."""
