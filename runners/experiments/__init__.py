"""The experiments: one file each has its title, its parameters, its blocks and what answers its questions."""
