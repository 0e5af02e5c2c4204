"""``randsub completion``: what a shell needs to complete the words of the command.

The script is made from the parser itself, so it knows every verb and flag. It holds a table from
the words so far (verb, and what follows it in ``reproduce``) to the words that may come, and from
flags to their values; everything else is completed with files.
"""

import argparse
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from randsub.cli.options import add_verb

_DESCRIPTION = """\
Print a script that completes verbs, flags and their values with the tab key. To have it always:

  bash   randsub completion bash > ~/.local/share/bash-completion/completions/randsub
  zsh    randsub completion zsh > ~/.zfunc/_randsub    (with fpath+=~/.zfunc before compinit)
  fish   randsub completion fish > ~/.config/fish/completions/randsub.fish
"""


def add(verbs: Any) -> None:
    """Add the verb and what may follow it."""
    verb = add_verb(
        verbs,
        "completion",
        "print what a shell needs to complete these words",
        _DESCRIPTION,
        json=False,
    )
    verb.add_argument("shell", choices=tuple(_SCRIPTS), metavar="SHELL", help=", ".join(_SCRIPTS))
    verb.set_defaults(run=_run)


def _run(args: argparse.Namespace) -> int:
    from randsub.cli.main import Exit, parser, tell

    tell(_SCRIPTS[args.shell](list(_places(parser(), ()))), sys.stdout, end="")
    return Exit.DONE


@dataclass(frozen=True)
class Flag:
    """An option: its names, what it does, and its values where they are known."""

    names: tuple[str, ...]
    help: str
    takes_value: bool
    choices: tuple[str, ...]


@dataclass(frozen=True)
class Place:
    """Words so far, and what may follow them.

    Parameters
    ----------
    words : tuple of str
        Verbs up to here; empty for the command itself.
    verbs : dict of str
        Verbs that may follow, with what they do.
    choices : tuple of str
        Values of what is not an option, where they are known.
    flags : tuple of Flag
    """

    words: tuple[str, ...]
    verbs: dict[str, str]
    choices: tuple[str, ...]
    flags: tuple[Flag, ...]


def _places(parser: argparse.ArgumentParser, words: tuple[str, ...]) -> Iterator[Place]:
    flags: list[Flag] = []
    choices: tuple[str, ...] = ()
    verbs: dict[str, str] = {}
    below: list[tuple[str, argparse.ArgumentParser]] = []
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            verbs = {one.dest: one.help or "" for one in action._choices_actions}
            below = list(action.choices.items())
        elif action.option_strings:
            flags.append(
                Flag(
                    tuple(action.option_strings),
                    _sentence(action.help or ""),
                    action.nargs != 0,
                    tuple(map(str, action.choices or ())),
                )
            )
        elif action.choices:
            choices = tuple(map(str, action.choices))
    yield Place(words, verbs, choices, tuple(flags))
    for name, one in below:
        yield from _places(one, (*words, name))


def _sentence(text: str) -> str:
    """Without what would need quoting in some shell."""
    plain = " ".join(text.replace("%%", "%").split())
    return "".join(letter for letter in plain if letter not in "'\"`$\\:[]")


def _bash(places: list[Place], function: str = "_randsub") -> str:
    lines = [
        "# Completion of randsub for bash; made by `randsub completion bash`.",
        f"{function}() {{",
        '    local word="${COMP_WORDS[COMP_CWORD]}" before="${COMP_WORDS[COMP_CWORD-1]}"',
        '    local place="" words="" i',
        "    for ((i = 1; i < COMP_CWORD; i++)); do",
        '        case "$place ${COMP_WORDS[i]}" in',
        f"            {_either([_key(one) for one in places if one.words])})",
        '                place="$place ${COMP_WORDS[i]}" ;;',
        "        esac",
        "    done",
        '    case "$place $before" in',
    ]
    for place in places:
        for flag in place.flags:
            if flag.takes_value:
                keys = [f'"{_key(place)[1:-1]} {name}"' for name in flag.names]
                answer = (
                    f'COMPREPLY=($(compgen -W "{" ".join(flag.choices)}" -- "$word"))'
                    if flag.choices
                    else 'COMPREPLY=($(compgen -f -- "$word"))'
                )
                lines.append(f"        {_either(keys)}) {answer}; return ;;")
    lines += ["    esac", '    case "$place" in']
    for place in places:
        names = [name for flag in place.flags for name in flag.names]
        free = [*place.verbs, *place.choices]
        lines += [
            f"        {_key(place)})",
            f'            case "$word" in -*) words="{" ".join(names)}" ;; '
            f'*) words="{" ".join(free)}" ;; esac ;;',
        ]
    lines += [
        "    esac",
        '    COMPREPLY=($(compgen -W "$words" -- "$word"))',
        '    if [[ ${#COMPREPLY[@]} -eq 0 && "$word" != -* ]]; then',
        '        COMPREPLY=($(compgen -f -- "$word"))',
        "    fi",
        "}",
        f"complete -o filenames -F {function} randsub",
    ]
    return "\n".join(lines) + "\n"


def _key(place: Place) -> str:
    return '"' + "".join(f" {word}" for word in place.words) + '"'


def _either(keys: list[str]) -> str:
    return " | ".join(keys)


def _zsh(places: list[Place]) -> str:
    """A function that compinit finds; its body is bash's, which zsh can read."""
    body = _bash(places).split("\n", 1)[1]
    return (
        "#compdef randsub\n"
        "# Completion of randsub for zsh; made by `randsub completion zsh`.\n"
        "autoload -U +X bashcompinit && bashcompinit\n" + body
    )


def _fish(places: list[Place]) -> str:
    lines = [
        "# Completion of randsub for fish; made by `randsub completion fish`.",
        "function __randsub_at",
        "    # Whether the verbs so far are these.",
        "    set -l seen",
        "    for word in (commandline -opc)[2..-1]",
        f"        if contains -- $word {' '.join(sorted({w for p in places for w in p.words}))}",
        "            set -a seen $word",
        "        end",
        "    end",
        '    test "$seen" = "$argv"',
        "end",
    ]
    for place in places:
        at = f"complete -c randsub -n '__randsub_at {' '.join(place.words)}'"
        lines += [
            f"{at} -f -a {verb} -d '{_sentence(summary)}'" for verb, summary in place.verbs.items()
        ]
        if place.choices:
            lines.append(f"{at} -f -a '{' '.join(place.choices)}'")
        lines += [f"{at}{_fish_flag(flag)}" for flag in place.flags]
    return "\n".join(lines) + "\n"


def _fish_flag(flag: Flag) -> str:
    words = ""
    for name in flag.names:
        words += f" -l {name[2:]}" if name.startswith("--") else f" -s {name[1:]}"
    if flag.choices:
        words += f" -x -a '{' '.join(flag.choices)}'"
    elif flag.takes_value:
        words += " -r"
    return f"{words} -d '{flag.help}'"


_SCRIPTS = {"bash": _bash, "zsh": _zsh, "fish": _fish}
