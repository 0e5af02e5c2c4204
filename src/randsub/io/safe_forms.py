"""What a model file holds in place of objects that a list of trusted types cannot make safe.

pandas' objects have no safe form of their own. The trees of scikit-learn's compiled code do, but
their numbers are addresses that the code follows without checking: to trust the *type* of a tree
in a file would mean to trust every number in it. So these objects are written as a call with plain
arguments, and each builder below checks its arguments before it makes the object again:

* a decision tree is kept as its arrays, which must lead from the root to leaves;
* a tree of neighbours is built again from its points, which gives the same tree;
* frames, series and indexes are kept as arrays and lists;
* a dictionary whose keys JSON would change is kept as two lists.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from pandas.api.types import is_bool_dtype, is_numeric_dtype, is_object_dtype, is_string_dtype
from sklearn.neighbors import BallTree, KDTree
from sklearn.tree import DecisionTreeRegressor

from randsub._typing import FloatArray, IntArray

# The class of fitted trees, which has no public name; and the number that stands for no child.
Tree: Any = type(DecisionTreeRegressor().fit([[0.0]], [0.0]).tree_)
LEAF = -1
# Metrics of neighbours that a name and an exponent describe completely.
METRICS = tuple(KDTree.valid_metrics)


class SafeForm:
    """In a model file, a call of this class; called, it returns the object itself.

    Parameters
    ----------
    kind : str
        One of BUILDERS.
    *arguments
        Of its builder.
    """

    call: tuple[Any, ...]

    def __new__(cls, kind: str, *arguments: Any) -> Any:
        """Build the object."""
        return BUILDERS[kind](*arguments)

    @classmethod
    def of(cls, kind: str, *arguments: Any) -> "SafeForm":
        """The call, without making it."""
        form: SafeForm = object.__new__(cls)
        form.call = (kind, *arguments)
        return form

    def __reduce__(self) -> tuple[Any, ...]:
        """For skops, which writes it as a call of the class."""
        return type(self), self.call

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        """For copies, in which it stays what it is."""
        return type(self).of, self.call


def safe_form(obj: Any, holder: Any = None) -> Any:
    """What is written in place of an object, or None if it is the object itself.

    Parameters
    ----------
    obj : object
    holder : estimator, default=None
        The estimator that a tree of neighbours belongs to; it knows the metric.
    """
    if isinstance(obj, pd.DataFrame | pd.Series | pd.Index):
        return _pandas_form(obj)
    if type(obj) is Tree:
        return SafeForm.of("tree", *tree_arguments(obj))
    if type(obj) in (KDTree, BallTree):
        return _neighbors_form(obj, holder)
    # Workers leave maps of files behind that will not exist later.
    if isinstance(obj, np.memmap):
        return np.array(obj)
    if type(obj) is dict and not ({str} >= set(map(type, obj)) or {int} >= set(map(type, obj))):
        return SafeForm.of("mapping", list(obj), list(obj.values()))
    return None


# -- decision trees ------------------------------------------------------------------------------


def tree_arguments(tree: Any) -> tuple[Any, ...]:
    """The arguments of :func:`build_tree`."""
    _, (n_features, n_classes, n_outputs), state = tree.__reduce__()
    nodes, values = (np.array(state[name][: state["node_count"]]) for name in ("nodes", "values"))
    return n_features, np.array(n_classes), n_outputs, state["max_depth"], nodes, values


def build_tree(
    n_features: int,
    n_classes: IntArray,
    n_outputs: int,
    max_depth: int,
    nodes: Any,
    values: FloatArray,
) -> Any:
    """A decision tree, if every number in it leads to a place within it.

    Parameters
    ----------
    n_features : int
    n_classes : int ndarray of shape (n_outputs,)
    n_outputs : int
    max_depth : int
    nodes : structured ndarray of shape (n_nodes,)
    values : ndarray of shape (n_nodes, n_outputs, largest number of classes)
    """
    if (
        n_outputs < 1
        or n_classes.shape != (n_outputs,)
        or n_classes.min() < 1
        or values.shape != (len(nodes), n_outputs, n_classes.max())
    ):
        raise ValueError("a decision tree in it has values of an impossible shape")
    inner = np.flatnonzero(nodes["left_child"] != LEAF)
    children = np.stack([nodes["left_child"][inner], nodes["right_child"][inner]])
    feature = nodes["feature"][inner]
    if (
        len(nodes) == 0
        # Children come after their parent, and have only one: there is a way down, and an end.
        or (children <= inner).any()
        or (children >= len(nodes)).any()
        or len(np.unique(children)) < children.size
        or ((feature < 0) | (feature >= n_features)).any()
        or _depth(inner, children, len(nodes)) > max_depth
    ):
        raise ValueError("a decision tree in it has branches that lead nowhere")
    tree = Tree(n_features, n_classes.astype(np.intp), n_outputs)
    state = {"max_depth": max_depth, "node_count": len(nodes), "nodes": nodes, "values": values}
    tree.__setstate__(state)
    return tree


def _depth(inner: IntArray, children: IntArray, n_nodes: int) -> int:
    depth = [0] * n_nodes
    for parent, (left, right) in zip(inner.tolist(), children.T.tolist(), strict=True):
        depth[left] = depth[right] = depth[parent] + 1
    return max(depth)


# -- trees of neighbours -------------------------------------------------------------------------


def _neighbors_form(tree: Any, holder: Any) -> SafeForm | None:
    """None for a metric that a name does not describe: the file will ask for trust in the tree."""
    # Estimators of neighbours say which metric they use in the end; KernelDensity has one metric.
    metric = getattr(holder, "effective_metric_", getattr(holder, "metric", None))
    params = getattr(holder, "effective_metric_params_", getattr(holder, "metric_params", None))
    given = {name: value for name, value in (params or {}).items() if value is not None}
    if metric not in METRICS or not {"p"} >= set(given):
        return None
    weights = None if tree.sample_weight is None else np.asarray(tree.sample_weight)
    return SafeForm.of(
        type(tree).__name__, tree.get_arrays()[0], holder.leaf_size, metric, given, weights
    )


def _neighbors_builder(kind: Any) -> Callable[..., Any]:
    def build(points: FloatArray, leaf_size: int, metric: str, params: Any, weights: Any) -> Any:
        if metric not in METRICS or not {"p"} >= set(params):
            raise ValueError(f"it asks for the metric {metric!r} with {params}, which is unknown")
        return kind(points, leaf_size=leaf_size, metric=metric, sample_weight=weights, **params)

    return build


# -- pandas --------------------------------------------------------------------------------------


def _pandas_form(table: Any) -> SafeForm:
    """Raises a TypeError for what cannot be put together again."""
    kind, *arguments = _pandas_call(table)
    if not BUILDERS[kind](*arguments).equals(table):
        raise TypeError(f"a pandas {type(table).__name__} that does not survive storing")
    return SafeForm.of(kind, *arguments)


def _pandas_call(table: Any) -> tuple[Any, ...]:
    if isinstance(table, pd.DataFrame):
        columns = [_as_index(table.iloc[:, j]) for j in range(table.shape[1])]
        return "frame", columns, table.index, table.columns
    if isinstance(table, pd.Series):
        return "series", _as_index(table), table.index, table.name
    return _index_call(table)


def _as_index(column: pd.Series) -> pd.Index:
    return pd.Index(column, dtype=column.dtype, name=None)


def _index_call(index: Any) -> tuple[Any, ...]:
    dtype, name = index.dtype, index.name
    if isinstance(index, pd.MultiIndex):
        return "levels", [index.get_level_values(i) for i in range(index.nlevels)]
    if isinstance(index, pd.RangeIndex):
        return "range", index.start, index.stop, index.step, name
    if isinstance(dtype, pd.CategoricalDtype):
        return "categories", np.asarray(index.codes), dtype.categories, bool(dtype.ordered), name
    if isinstance(dtype, np.dtype) and not dtype.hasobject:
        return "index", np.array(index), None, name
    is_text = is_object_dtype(dtype) or is_string_dtype(dtype)
    if not (is_text or is_numeric_dtype(dtype) or is_bool_dtype(dtype)):
        raise TypeError(f"pandas values of type {dtype}")
    # pandas' own missing value becomes None.
    values = [
        None if value is pd.NA or (not is_text and pd.isna(value)) else value
        for value in index.tolist()
    ]
    return "index", values, str(dtype), name


def _build_series(values: Any, index: Any, name: Any) -> pd.Series:
    return pd.Series(values.array, index=index, name=name)


def _build_frame(columns: Any, index: Any, labels: Any) -> pd.DataFrame:
    # By position first: labels need not be unique.
    frame = pd.DataFrame({j: _build_series(c, index, j) for j, c in enumerate(columns)}, index)
    return frame.set_axis(labels, axis=1)


BUILDERS: dict[str, Callable[..., Any]] = {
    "tree": build_tree,
    "KDTree": _neighbors_builder(KDTree),
    "BallTree": _neighbors_builder(BallTree),
    "mapping": lambda keys, values: dict(zip(keys, values, strict=True)),
    "frame": _build_frame,
    "series": _build_series,
    "index": lambda values, dtype, name: pd.Index(values, dtype or values.dtype, name=name),
    "range": lambda start, stop, step, name: pd.RangeIndex(start, stop, step, name=name),
    "categories": lambda codes, categories, ordered, name: pd.CategoricalIndex(
        pd.Categorical.from_codes(codes, categories, ordered=ordered), name=name
    ),
    "levels": pd.MultiIndex.from_arrays,
}
