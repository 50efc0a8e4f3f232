"""One trial: a server is loaded, profiled and observed, which gives raw files."""
