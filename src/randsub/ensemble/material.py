"""The data of a fit, ready for models to be trained on it."""

from collections.abc import Sequence
from dataclasses import dataclass

from randsub._typing import FloatArray, IntArray
from randsub.engines import Dispatcher
from randsub.ensemble.inputs import Samples


@dataclass(frozen=True)
class Material:
    """Which rows train and which judge, with their targets, and who trains models on them.

    Parameters
    ----------
    samples : Samples
        The training data as the user gave it, n rows. The final members see all ``samples.rows``.
    encoded : ndarray of shape (n, C)
        Their targets as numbers, or as indicators of the classes.
    strata : int ndarray of shape (n,) or None
        Class of each row; None in regression.
    train_rows : int ndarray
        Rows that models are trained on while something is being learned.
    judges : Samples
        Where validation rows are found: data of the user's own, or ``samples`` again.
    val_encoded, val_strata : as above
        For the rows of ``judges``.
    val_rows : int ndarray
        Rows of ``judges`` on which what is learned is judged; may be empty.
    dispatcher : Dispatcher
        Trains models on the scaled data.
    feature_names : sequence of str
        For messages; may be empty.
    """

    samples: Samples
    encoded: FloatArray
    strata: IntArray | None
    train_rows: IntArray
    judges: Samples
    val_encoded: FloatArray
    val_strata: IntArray | None
    val_rows: IntArray
    dispatcher: Dispatcher
    feature_names: Sequence[str]
