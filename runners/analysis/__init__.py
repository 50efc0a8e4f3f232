"""Statistics on the frames of a run: intervals, comparisons, knees, steady states and causes."""
