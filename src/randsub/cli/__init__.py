"""The command line.

* :mod:`~randsub.cli.main`: runs a command; exit codes, errors and signals;
* :mod:`~randsub.cli.parser`, :mod:`~randsub.cli.options`, :mod:`~randsub.cli.option_values`: every
  command with its options, how they are declared, and how their values are read;
* :mod:`~randsub.cli.commands`: what each command does, one module per command;
* :mod:`~randsub.cli.tables`: tables in files;
* the other modules are what commands share.
"""

from randsub.cli.main import main

__all__ = ["main"]
