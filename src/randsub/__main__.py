"""``python -m randsub`` is the command ``randsub``."""

import sys

from randsub.cli import main

if __name__ == "__main__":
    sys.exit(main())
