"""Drive the experiments that need steps of their own."""
