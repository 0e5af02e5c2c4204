"""What messages of the library call by the names of parameters, as options of the command line."""

import re
from typing import Final

OPTIONS: Final = {
    "learning_rate of the solver": "--param learning_rate",
    "n_batches of the solver": "--param n_batches",
    "n_estimators": "--members",
    "n_repeats": "--repeats",
    "max_iter": "--epochs",
    "a penalty": "a --penalty",
    "the penalty": "--penalty",
    "use max_samples, if the model has it": "use --max-samples",
    "max_samples": "--max-samples",
    "set engine='generic'": "use --param engine=generic",
    "Extend lams": "Extend --param lams",
    "null='conditional'": "--null conditional",
    "null='marginal'": "--null marginal",
}
_NAMES: Final = re.compile("|".join(rf"(?<![\w-]){re.escape(name)}(?!\w)" for name in OPTIONS))


def with_options(text: str) -> str:
    """A message of the library in the words of the command line."""
    return _NAMES.sub(lambda found: OPTIONS[found[0]], text)
