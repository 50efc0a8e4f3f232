"""Statistics on the data frames of a run: intervals, comparisons, knees, steady states and causes."""
