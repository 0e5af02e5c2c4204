"""The errors and warnings of randsub."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from os import PathLike
from typing import Any

# Features that a message lists at most.
SHOWN = 20
# How scikit-learn says that there are too few samples, and what to do then.
OF_SAMPLES = ("n_samples", "sample(s)", "number of members in each class")
MORE_SAMPLES = (
    "If it needs more samples: base models are trained on a part of them, without those that are "
    "set aside for validation, nor a batch (n_batches) of the others. "
)


def as_sentence(clause: str) -> str:
    """A clause with a full stop, unless it ends in a mark of its own, such as a question's."""
    return clause if clause.endswith((".", "?", "!")) else f"{clause}."


class RandsubWarning(UserWarning):
    """Base class of the warnings that randsub issues."""


class InterruptedFitWarning(RandsubWarning):
    """A fit was stopped by Ctrl-C; the best alpha found so far is kept."""


class LongFitWarning(RandsubWarning):
    """A fit is going to take long; the message says how long, and what would be faster."""


class NoFeatureLeftWarning(RandsubWarning):
    """Every selection probability reached 0 without a penalty that asks for it."""


class SlowEngineWarning(RandsubWarning):
    """scikit-learn trains base models that a compiled engine could train with other settings."""

    @staticmethod
    def text(refusals: Mapping[str, tuple[str, str]]) -> str:
        """The message.

        Parameters
        ----------
        refusals : mapping of str to (str, str)
            By base model: the name of its engine, and a clause of which the engine is the subject.
        """
        bases = [" ".join(base.split()) for base in refusals]
        if len(bases) == 1:
            [(engine, reason)] = refusals.values()
            return (
                f"{bases[0]} is trained by scikit-learn, one model after the other. The compiled "
                f"engine {engine!r} is many times faster, but it {reason}. To turn this warning "
                "off, set engine='generic'."
            )
        by_reason: dict[str, list[str]] = {}
        for engine, reason in refusals.values():
            by_reason.setdefault(reason, []).append(repr(engine))
        reasons = [f"{', '.join(engines)}: {why}" for why, engines in by_reason.items()]
        return (
            f"The base models {', '.join(bases)} are trained by scikit-learn, one model after the "
            f"other. Their compiled engines are many times faster, but step aside "
            f"({'. '.join(reasons)}). To turn this warning off, set engine='generic' or ignore "
            "randsub.exceptions.SlowEngineWarning."
        )


class BaseModelThreadsWarning(RandsubWarning):
    """The base model asks for several threads, and the ensemble for one worker."""


class CheckpointWarning(RandsubWarning):
    """A checkpoint could not be written, or was written with other library versions."""


class WorkerLostWarning(RandsubWarning):
    """A worker died; its work is repeated, with the same result."""


class UnsafeLoadWarning(RandsubWarning):
    """A file is loaded in a format that can run arbitrary code."""


class VersionMismatchWarning(RandsubWarning):
    """A model was saved with library versions other than the installed ones."""


class TrainingRowsWarning(RandsubWarning):
    """Some of the rows that a model should be scored on are rows that it was trained on."""


class DoubtfulNetworkWarning(RandsubWarning):
    """The links of a network mean little, or a better penalty may be outside of those tried."""


class ManyCategoriesWarning(RandsubWarning):
    """A column of categories tells nearly all rows apart, as names and identifiers do."""


class _FieldsInArgs:
    """An error whose fields are its ``args``, so that it can be pickled by a worker process."""

    def __post_init__(self) -> None:
        self.args: Any = tuple(getattr(self, field.name) for field in fields(self))  # type: ignore[arg-type]


@dataclass(eq=False, repr=False)
class FileFormatError(_FieldsInArgs, ValueError):
    """A file or folder is damaged, or is not what was asked for.

    Base class of :class:`CheckpointError`, :class:`DatasetFormatError` and
    :class:`ModelFormatError`.

    Parameters
    ----------
    path : path-like
        The file or folder.
    reason : str
        What is wrong with it, as a clause without a full stop.
    remedy : str, optional
        What to do, as a sentence. Each class has its own default.
    """

    path: "PathLike[str] | str"
    reason: str
    remedy: str | None = None

    _message = "{path} cannot be read: {reason} {remedy}"
    _remedy = ""

    def __str__(self) -> str:
        remedy = self.remedy or self._remedy
        return self._message.format(path=self.path, reason=as_sentence(self.reason), remedy=remedy)


class CheckpointError(FileFormatError):
    """A checkpoint is damaged, or belongs to another fit.

    The parameters are those of :class:`FileFormatError`.
    """

    _message = "The fit cannot be resumed from {path}: {reason} {remedy}"
    _remedy = "Pass the checkpoint of this very fit, or start again without resume_from."


class DatasetFormatError(FileFormatError):
    """A file of a data set is damaged, or holds something else.

    The parameters are those of :class:`FileFormatError`.
    """

    _message = "{path} is not the expected data set: {reason} {remedy}"
    _remedy = "Download the file again, or see the loader's documentation for the expected layout."


class ModelFormatError(FileFormatError):
    """A file or folder does not hold a complete model.

    The parameters are those of :class:`FileFormatError`.
    """

    _message = "No model could be loaded from {path}: {reason} {remedy}"
    _remedy = "Save the model again, or pass a file or folder that randsub.io wrote."


class DatasetNotFoundError(FileNotFoundError):
    """A data set is not in the given folder; the message says where to download it."""


@dataclass(eq=False, repr=False)
class BaseModelError(_FieldsInArgs, RuntimeError):
    """A base model could not be trained, or predicted something unusable.

    Parameters
    ----------
    model : str
        Representation of the base model.
    reason : str
        What went wrong, usually the message of the base model's own error.
    features : sequence of int
        Columns of the subset on which it failed.
    names : sequence of str, default=()
        Names of these columns, if the data has names.
    epoch : int or None, default=None
        Epoch in which it failed; 0 is the start, None the final ensemble.
    stage : str or None, default=None
        When it failed, in words, for methods without epochs.
    """

    model: str
    reason: str
    features: Sequence[int]
    names: Sequence[str] = ()
    epoch: int | None = None
    stage: str | None = None

    def __post_init__(self) -> None:
        self.features, self.names = tuple(self.features), tuple(self.names)
        super().__post_init__()

    def among(self, columns: Sequence[int]) -> "BaseModelError":
        """The same error, when the base model was fitted on these columns of a larger table."""
        return replace(self, features=[int(columns[j]) for j in self.features])

    def once(self) -> "BaseModelError":
        """The same error with each column listed once."""
        return replace(self, features=list(dict.fromkeys(self.features)))

    def located(
        self, names: Sequence[str], epoch: int | None, stage: str | None = None
    ) -> "BaseModelError":
        """The same error with the names of the features and the epoch or stage filled in."""
        chosen = [str(names[j]) for j in self.features] if len(names) else []
        return replace(self, names=chosen, epoch=epoch, stage=stage)

    def __str__(self) -> str:
        when = "in the final ensemble" if self.epoch is None else f"at epoch {self.epoch}"
        when = self.stage or when
        shown = [repr(name) for name in self.names] or [str(j) for j in self.features]
        listed = ", ".join(shown[:SHOWN])
        if len(shown) > SHOWN:
            listed += f", ... ({len(shown) - SHOWN} more)"
        # The final members see all samples, and methods without epochs have no batches.
        in_epoch = self.epoch is not None and self.stage is None
        is_small = in_epoch and any(words in self.reason for words in OF_SAMPLES)
        samples = MORE_SAMPLES if is_small else ""
        return (
            f"The base model {self.model} failed {when} on the subset of {len(self.features)} "
            f"feature(s) [{listed}]: {as_sentence(self.reason)} {samples}If it can learn from "
            "other subsets but not from this one, wrap it in a pipeline that copes with it or, in "
            "PRS, keep columns that need each other together with feature_groups."
        )


class BaseModelTimeoutError(BaseModelError):
    """A base model takes longer than ``task_timeout`` allows.

    The parameters are those of :class:`BaseModelError`.
    """


@dataclass(eq=False, repr=False)
class UnfinishedFitError(_FieldsInArgs, RuntimeError):
    """A fit was stopped, by a time limit or another callback, before its first models were trained.

    Parameters
    ----------
    reason : str
        Why it was stopped, as a clause without a full stop.
    n_done, n_all : int
        Number of the first base models that were trained, and of all of them.
    seconds : float
        Time that they took.
    """

    reason: str
    n_done: int
    n_all: int
    seconds: float

    def __str__(self) -> str:
        each = self.seconds / self.n_done
        return (
            f"There is no model yet ({self.reason}): {self.n_done} of the first {self.n_all} base "
            f"models were trained in {duration(self.seconds)}. One takes {duration(each)}, so that "
            f"all of them need {duration(each * self.n_all)}, before the final ensemble. Train "
            "each on fewer samples (max_samples), choose a faster base model, or allow more time."
        )


def duration(seconds: float) -> str:
    """A time for people: "0.25 s", "12 s", "3 min 20 s", "2 h 5 min"."""
    if seconds < 10.0:
        return f"{seconds:.2g} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


@dataclass(eq=False, repr=False)
class WorkerLostError(_FieldsInArgs, RuntimeError):
    """Workers died, and the remaining ones cannot do the work.

    Parameters
    ----------
    reason : str
        Message of the backend, as a clause without a full stop.
    remedy : str
        What to do, as a sentence.
    """

    reason: str
    remedy: str

    @classmethod
    def too_often(cls, error: Exception) -> "WorkerLostError":
        """Every worker that is given this work dies."""
        return cls(
            f"workers died each time they were given the same work ({_described(error)})",
            "Most often they have too little memory: use fewer workers or max_samples. If the base "
            "model crashes, n_jobs=1 shows where.",
        )

    @classmethod
    def out_of_reach(cls, error: Exception) -> "WorkerLostError":
        """The cluster does not answer any more."""
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


@dataclass(eq=False, repr=False)
class UnsavableModelError(_FieldsInArgs, TypeError):
    """A model holds something that cannot be written to a file.

    Parameters
    ----------
    model : str
        Name of the model's class.
    reason : str
        What cannot be written, as a clause without a full stop.
    """

    model: str
    reason: str

    def __str__(self) -> str:
        return (
            f"This {self.model} cannot be saved: {as_sentence(self.reason)} Define functions and "
            "classes that it uses in a module, where loading can find them; format='joblib' saves "
            "any model that can be pickled."
        )


@dataclass(eq=False, repr=False)
class UntrustedTypesError(_FieldsInArgs, TypeError):
    """A model file needs types or functions that are not trusted.

    Parameters
    ----------
    path : path-like
        The file.
    types : sequence of str
        Their names, including the module.
    """

    path: "PathLike[str] | str"
    types: Sequence[str]

    def __str__(self) -> str:
        listed = ", ".join(repr(name) for name in self.types)
        return (
            f"{self.path} holds objects of types that are not trusted: {listed}. Nothing was "
            "loaded and nothing ran. If you know where the file comes from, and that these are "
            f"harmless, load it with trusted=[{listed}]."
        )


@dataclass(eq=False, repr=False)
class DeviceError(_FieldsInArgs, RuntimeError):
    """The device that base models are trained on has failed, or is too small.

    An estimator keeps the results of an earlier fit, and checkpoints stay as they are.

    Parameters
    ----------
    device : str
    reason : str
        What happened, and what to do, as a sentence.
    """

    device: str
    reason: str

    @classmethod
    def lost(cls, device: str, reason: str) -> "DeviceError":
        """The device does not answer any more."""
        what = reason.rstrip(".")
        return cls(
            device,
            f"The device {device!r} failed while base models were trained ({what}); start Python "
            "again, and pass the last checkpoint as resume_from, if there is one.",
        )

    @classmethod
    def full(cls, device: str, n_bytes: int | None = None) -> "DeviceError":
        """Memory is too small for the smallest portion of the work, or for the tables."""
        what = "for the tables of this fit"
        if n_bytes is not None:
            what = f"even for one model and one sample, about {n_bytes / 2**20:.3g} MiB"
        return cls(
            device,
            f"The memory of the device {device!r} is too small {what}; free some of it, lower "
            "max_samples, or use engine='auto' with device='cpu'.",
        )

    def __str__(self) -> str:
        return self.reason
