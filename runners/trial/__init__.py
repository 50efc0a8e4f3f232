"""One trial: a server is loaded, profiled and observed; the results are raw files."""
