"""``python -m randsub_experiments`` is the command ``randsub-experiments``."""

import sys

from randsub_experiments.command_line import main

if __name__ == "__main__":
    sys.exit(main())
