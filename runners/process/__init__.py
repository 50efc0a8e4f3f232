"""Build the tools and start, watch and stop processes."""
