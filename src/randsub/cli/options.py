"""How the options of a command are declared.

An option is declared as help shows it: ``options.add("-o --output FILE", "file to write", Path)``.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Options:
    """Options of a command, or of one section of its help.

    Parameters
    ----------
    group : argparse.ArgumentParser or argument group
    file_completion : object, default=None
        What shtab needs to complete the names of files.
    """

    group: Any
    file_completion: Any = None

    def section(self, title: str) -> "Options":
        """A section of the help with its own title."""
        return Options(self.group.add_argument_group(title), self.file_completion)

    def exclusive(self, *, required: bool = False) -> "Options":
        """Options of which only one may be given."""
        group = self.group.add_mutually_exclusive_group(required=required)
        return Options(group, self.file_completion)

    def add(self, form: str, help: str, type: Any = None, **settings: Any) -> None:
        """Add an option or a positional argument.

        Parameters
        ----------
        form : str
            ``"MODEL"``: positional; ``"-q --quiet"``: a flag; ``"-o --output FILE"``: with a value;
            ``"--drop COLUMN..."``: with one or more; ``"--task {a,b}"``: with one of these.
        help : str
        type : callable, default=None
            Reads the value; :class:`pathlib.Path` is completed with the names of files.
        **settings
            Passed to :meth:`argparse.ArgumentParser.add_argument`.
        """
        names = [word for word in form.split() if word.startswith("-")]
        value = form.split()[-1]
        if value in names:
            settings.setdefault("action", "store_true")
        elif value.startswith("{"):
            settings["choices"] = tuple(value[1:-1].split(","))
        else:
            settings |= {"type": type, "metavar": value.removesuffix("...")}
        if value.endswith("..."):
            settings |= {"nargs": "+", "default": []}
        action = self.group.add_argument(*(names or [value.lower()]), help=help, **settings)
        if type is Path:
            action.complete = self.file_completion
