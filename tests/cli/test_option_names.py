"""Messages of the library in the words of the command line."""

import pytest

from randsub.cli.option_names import OPTIONS, with_options
from randsub.cli.parser import make_parser
from randsub.exceptions import UnfinishedFitError


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Raise n_repeats, or max_iter.", "Raise --repeats, or --epochs."),
        ("fewer (max_samples), or --max-samples", "fewer (--max-samples), or --max-samples"),
        ("off, set engine='generic'.", "off, use --param engine=generic."),
        ("n_repeats_ and my_max_iter stay", "n_repeats_ and my_max_iter stay"),
    ],
)
def test_parameters_become_options(text, words):
    assert with_options(text) == words


def test_the_options_exist():
    commands = make_parser()._subparsers._group_actions[0].choices
    known = {
        option
        for name in ("fit", "select")
        for action in commands[name]._actions
        for option in action.option_strings
    }
    named = {word for words in OPTIONS.values() for word in words.split() if word.startswith("--")}
    assert named <= known


def test_an_unfinished_fit_names_the_option():
    error = UnfinishedFitError("TimeLimit: 3 seconds are over", 1, 500, 3.0)
    assert "(--max-samples)" in with_options(str(error))
