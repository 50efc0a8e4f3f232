"""The experiments: a file `eNN_name.py` holds the title, parameters, blocks (what is measured) and questions of one."""
