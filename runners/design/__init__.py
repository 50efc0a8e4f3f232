"""What to build and run: experiments, workloads and sizes, as validated values."""
