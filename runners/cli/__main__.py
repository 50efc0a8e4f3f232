"""`python -m runners.cli`, which is `lab`."""

from runners.cli import main

main()
