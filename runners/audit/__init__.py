"""Rules that find faults in outputs of load generators, in reports and in the lab's own runs."""
