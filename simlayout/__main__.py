"""`python -m simlayout` is the command `simlayout`."""

import sys

from simlayout.cli import main

if __name__ == "__main__":
    sys.exit(main())
