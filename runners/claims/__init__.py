"""State findings: what the numbers of a run mean, each with its evidence."""
