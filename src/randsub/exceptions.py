"""The errors and warnings of randsub."""

from collections.abc import Sequence
from os import PathLike


class RandsubWarning(UserWarning):
    """Base class of the warnings that randsub issues."""


class InterruptedFitWarning(RandsubWarning):
    """A fit was stopped by Ctrl-C; the best alpha found so far is kept."""


class NoFeatureLeftWarning(RandsubWarning):
    """Every selection probability reached 0 without a penalty that asks for it."""


class CheckpointWarning(RandsubWarning):
    """A checkpoint could not be written, or was written with other versions of libraries."""


class WorkerLostWarning(RandsubWarning):
    """A worker died; its work is done again, with the same result."""


class CheckpointError(ValueError):
    """A checkpoint is damaged, or belongs to another fit.

    Parameters
    ----------
    path : path-like
        The file.
    reason : str
        What is wrong with it, as a clause without a full stop.
    """

    def __init__(self, path: "PathLike[str] | str", reason: str) -> None:
        super().__init__(path, reason)
        self.path = path
        self.reason = reason

    def __str__(self) -> str:
        return (
            f"The fit cannot go on from {self.path}: {self.reason}. Give the checkpoint of this "
            "very fit, or start anew without resume_from."
        )


class DatasetNotFoundError(FileNotFoundError):
    """A data set is not in the folder that was named; the message says where it can be had."""


class DatasetFormatError(ValueError):
    """A file of a data set is damaged, or holds something else.

    Parameters
    ----------
    path : path-like
        The file.
    reason : str
        What is wrong with it, as a clause without a full stop.
    """

    def __init__(self, path: "PathLike[str] | str", reason: str) -> None:
        super().__init__(path, reason)
        self.path = path
        self.reason = reason

    def __str__(self) -> str:
        return (
            f"{self.path} is not the data set it should be: {self.reason}. Get the file again, or "
            "see the loader's documentation for the layout that it reads."
        )


class BaseModelError(RuntimeError):
    """A base model could not be trained, or predicted something unusable.

    Parameters
    ----------
    model : str
        The base model, as it prints.
    reason : str
        What went wrong, in the words of the base model where it has some.
    features : sequence of int
        Columns of the subset on which it happened.
    names : sequence of str, default=()
        Names of these columns, where the data has names.
    epoch : int or None, default=None
        The epoch during which it happened; 0 is the start, None the final ensemble.
    stage : str or None, default=None
        When it happened, in words, where there are no epochs.
    """

    SHOWN = 20

    def __init__(
        self,
        model: str,
        reason: str,
        features: Sequence[int],
        names: Sequence[str] = (),
        epoch: int | None = None,
        stage: str | None = None,
    ) -> None:
        # All of it goes into args, so that the error survives the way back from a worker process.
        super().__init__(model, reason, tuple(features), tuple(names), epoch, stage)
        self.model = model
        self.reason = reason
        self.features = tuple(features)
        self.names = tuple(names)
        self.epoch = epoch
        self.stage = stage

    def among(self, columns: Sequence[int]) -> "BaseModelError":
        """The same error for a table of which the base model was only shown these columns."""
        features = [int(columns[j]) for j in self.features]
        return type(self)(self.model, self.reason, features, self.names, self.epoch, self.stage)

    def once(self) -> "BaseModelError":
        """The same error with each column named once."""
        features = list(dict.fromkeys(self.features))
        return type(self)(self.model, self.reason, features, self.names, self.epoch, self.stage)

    def located(
        self, names: Sequence[str], epoch: int | None, stage: str | None = None
    ) -> "BaseModelError":
        """The same error with the names of the features and the epoch or stage filled in."""
        chosen = [str(names[j]) for j in self.features] if len(names) else []
        return type(self)(self.model, self.reason, self.features, chosen, epoch, stage)

    def __str__(self) -> str:
        when = "in the final ensemble" if self.epoch is None else f"at epoch {self.epoch}"
        when = self.stage or when
        shown = [repr(name) for name in self.names] or [str(j) for j in self.features]
        listed = ", ".join(shown[: self.SHOWN])
        if len(shown) > self.SHOWN:
            listed += f", ... ({len(shown) - self.SHOWN} more)"
        return (
            f"The base model {self.model} failed {when} on the subset of {len(self.features)} "
            f"feature(s) [{listed}]: {self.reason.rstrip('.')}. If it can learn from other subsets "
            "but not from this one, wrap it in a pipeline that copes with it or, in PRS, keep "
            "columns that need each other together with feature_groups."
        )


class BaseModelTimeoutError(BaseModelError):
    """A base model takes longer than ``task_timeout`` allows.

    The parameters are those of :class:`BaseModelError`.
    """


class WorkerLostError(RuntimeError):
    """Workers died, and those that are left cannot do the work.

    Parameters
    ----------
    reason : str
        What the backend says, as a clause without a full stop.
    remedy : str
        What to do, as a sentence.
    """

    def __init__(self, reason: str, remedy: str) -> None:
        super().__init__(reason, remedy)
        self.reason = reason
        self.remedy = remedy

    @classmethod
    def too_often(cls, error: Exception) -> "WorkerLostError":
        """Whoever does this work dies."""
        return cls(
            f"workers died each time they were given the same work ({_described(error)})",
            "Most often they have too little memory: use fewer workers or max_samples. If the base "
            "model crashes, n_jobs=1 shows where.",
        )

    @classmethod
    def out_of_reach(cls, error: Exception) -> "WorkerLostError":
        """Nobody is there any more."""
        return cls(
            f"the cluster cannot be reached ({_described(error)})",
            "See whether its scheduler and workers run.",
        )

    def __str__(self) -> str:
        return (
            f"The work cannot go on: {self.reason}. {self.remedy} A fit with a Checkpoint among "
            "its callbacks goes on from there with fit(..., resume_from=...)."
        )


def _described(error: Exception) -> str:
    text = " ".join(str(error).split()).rstrip(".")
    return f"{type(error).__name__}: {text[:300]}" if text else type(error).__name__


class UnsafeLoadWarning(RandsubWarning):
    """A file is loaded in a format that can run any code it holds."""


class VersionMismatchWarning(RandsubWarning):
    """A model was saved by other versions of the libraries than those that load it."""


class UnsavableModelError(TypeError):
    """A model holds something that cannot be written to a file.

    Parameters
    ----------
    model : str
        Name of the model's class.
    reason : str
        What cannot be written, as a clause without a full stop.
    remedy : str
        What to do, as a sentence.
    """

    def __init__(self, model: str, reason: str, remedy: str) -> None:
        super().__init__(model, reason, remedy)
        self.model = model
        self.reason = reason
        self.remedy = remedy

    def __str__(self) -> str:
        return f"This {self.model} cannot be saved: {self.reason}. {self.remedy}"


class ModelFormatError(ValueError):
    """A file or folder does not hold a model, or not a whole one.

    Parameters
    ----------
    path : path-like
        The file or folder.
    reason : str
        What is wrong with it, as a clause without a full stop.
    remedy : str
        What to do, as a sentence.
    """

    def __init__(
        self,
        path: "PathLike[str] | str",
        reason: str,
        remedy: str = "Save the model again, or name the file that randsub.persistence.save wrote.",
    ) -> None:
        super().__init__(path, reason, remedy)
        self.path = path
        self.reason = reason
        self.remedy = remedy

    def __str__(self) -> str:
        return f"No model could be loaded from {self.path}: {self.reason}. {self.remedy}"


class UntrustedTypesError(TypeError):
    """A model file needs types or functions that nobody has said to be harmless.

    Parameters
    ----------
    path : path-like
        The file.
    types : sequence of str
        Their names, module included.
    """

    def __init__(self, path: "PathLike[str] | str", types: Sequence[str]) -> None:
        super().__init__(path, tuple(types))
        self.path = path
        self.types = tuple(types)

    def __str__(self) -> str:
        listed = ", ".join(repr(name) for name in self.types)
        return (
            f"{self.path} holds objects of types that are not trusted: {listed}. Nothing was "
            "loaded and nothing ran. If you know where the file comes from, and that these are "
            f"harmless, load it with trusted=[{listed}]."
        )
