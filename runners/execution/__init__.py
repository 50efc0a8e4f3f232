"""Run the plan of an experiment: steps, searches, interleaved rounds; resume a run."""
