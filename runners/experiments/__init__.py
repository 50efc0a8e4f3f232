"""The experiments: a file `eNN_name.py` holds the title, parameters, blocks and questions of one experiment."""
