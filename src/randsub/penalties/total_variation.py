"""The exact proximal step of total variation on a graph.

The problem is, for a graph with weights w on its edges and d on its nodes::

    minimise  sum_j d_j (x_j - u_j)^2 / 2  +  sum_(a, b) w_ab |x_a - x_b|

It decomposes by level: the nodes above a level t are the source side of a minimum cut, in which
node j wants to be above t with force ``d_j (u_j - t)`` and an edge may carry up to its weight. So:
take each piece of the graph (at first all of it) at its mean, let force flow from nodes that want
up to nodes that want down, and cut the piece where the flow is stuck; edges that were cut carry
their full weight from now on. A piece in which all forces cancel is flat. Its nodes all get the
mean of the piece, so neighbours that should be equal are equal to the last bit.

The flow is Dinic's: layers by breadth first, then paths by depth first until every way through the
layers is blocked. What flows in a piece goes on flowing in its parts, so later rounds have little
to do.
"""

from typing import NamedTuple

import numpy as np

from randsub._compile import compiled
from randsub._typing import BoolArray, FloatArray, IntArray

# Forces of this size, relative to weights and to what rounding leaves of a force, are none.
NO_FORCE = 1e-12
# More than all edges together can carry.
ANY_FORCE = 1e300


class Graph(NamedTuple):
    """Edges with their weights, and the arcs that leave each node.

    Attributes
    ----------
    a, b : int ndarrays of shape (n_edges,)
        Ends of the edges.
    weights : ndarray of shape (n_edges,)
        w, positive.
    begin : int ndarray of shape (n_nodes + 1,)
        Where the arcs of each node begin in ``arcs``.
    arcs : int ndarray of shape (2 * n_edges,)
        Arc e runs from a to b, arc n_edges + e back.
    """

    a: IntArray
    b: IntArray
    weights: FloatArray
    begin: IntArray
    arcs: IntArray


def make_graph(a: IntArray, b: IntArray, weights: FloatArray, n_nodes: int) -> Graph:
    """The graph of these edges, without those that join a node to itself or weigh nothing."""
    used = (weights > 0.0) & (a != b)
    a, b = a[used], b[used]
    return Graph(a, b, weights[used].astype(float), *_arcs_by_node(a, b, n_nodes))


def smooth(values: FloatArray, stiffness: FloatArray, graph: Graph, fixed: BoolArray) -> FloatArray:
    """Minimise the problem above.

    Parameters
    ----------
    values : ndarray of shape (M,)
        u.
    stiffness : ndarray of shape (M,)
        d, positive.
    graph : Graph
        Its weights are w.
    fixed : bool ndarray of shape (M,)
        Nodes that keep their value; their neighbours still feel them.

    Returns
    -------
    smooth : ndarray of shape (M,)
    """
    if fixed.all() or not len(graph.weights):
        return values.copy()
    tolerance = NO_FORCE * float(graph.weights.max() + np.median(stiffness[~fixed]))
    return _smooth(values, stiffness, fixed, *graph, tolerance)


def _arcs_by_node(a: IntArray, b: IntArray, n_nodes: int) -> tuple[IntArray, IntArray]:
    """Where the arcs of each node begin, and these arcs."""
    tails = np.concatenate([a, b])
    begin = np.concatenate([[0], np.cumsum(np.bincount(tails, minlength=n_nodes))])
    return begin.astype(np.intp), np.argsort(tails, kind="stable").astype(np.intp)


@compiled()
def _smooth(values, stiffness, fixed, a, b, weights, begin, arcs, tolerance):  # type: ignore[no-untyped-def]
    """Cut the graph into flat pieces, and give each its mean."""
    n_nodes = len(values)
    flow = np.zeros(len(a))
    piece = np.zeros(n_nodes, np.int64)
    n_pieces, n_idle, drains = 1, 0, True
    force = np.empty(n_nodes)
    mean = np.empty(n_nodes)
    # A piece that holds a fixed node is looked at from above, then from below.
    while n_idle < 2:
        _forces(values, stiffness, fixed, drains, a, b, flow, piece, n_pieces, force, mean)
        level = _let_flow(a, b, weights, begin, arcs, flow, piece, force, tolerance)
        n_before = n_pieces
        n_pieces = _cut(piece, n_pieces, level)
        n_idle = n_idle + 1 if n_pieces == n_before else 0
        drains = not drains
    return mean


@compiled()
def _forces(values, stiffness, fixed, drains, a, b, flow, piece, n_pieces, force, mean):  # type: ignore[no-untyped-def]
    """Each node's force at the mean of its piece; what flows in and out is taken into account.

    The mean of a piece with fixed nodes is the value of one of them. A fixed node takes any force
    from above its value where it drains, and gives any to below it where it does not.
    """
    for j in range(len(values)):
        force[j] = 0.0
    for e in range(len(a)):
        # Inside a piece this cancels in the mean; from piece to piece it pulls them together.
        force[a[e]] -= flow[e]
        force[b[e]] += flow[e]
    total = np.zeros(n_pieces)
    mass = np.zeros(n_pieces)
    for j in range(len(values)):
        if not fixed[j]:
            total[piece[j]] += stiffness[j] * values[j] + force[j]
            mass[piece[j]] += stiffness[j]
    for j in range(len(values)):
        if fixed[j]:
            total[piece[j]], mass[piece[j]] = values[j], 1.0
    for j in range(len(values)):
        mean[j] = total[piece[j]] / mass[piece[j]]
        if not fixed[j]:
            force[j] += stiffness[j] * (values[j] - mean[j])
        elif values[j] == mean[j]:
            force[j] = -ANY_FORCE if drains else ANY_FORCE
        else:
            force[j] = ANY_FORCE if values[j] > mean[j] else -ANY_FORCE


@compiled()
def _let_flow(a, b, weights, begin, arcs, flow, piece, force, tolerance):  # type: ignore[no-untyped-def]
    """Let as much force flow as the edges bear; returns what can still be reached, by its layer."""
    n_nodes, n_edges = len(force), len(a)
    level = np.empty(n_nodes, np.int64)
    queue = np.empty(n_nodes, np.int64)
    cursor = np.empty(n_nodes, np.int64)
    path = np.empty(n_nodes, np.int64)
    while _layers(a, b, weights, begin, arcs, flow, piece, force, tolerance, level, queue):
        cursor[:] = begin[:-1]
        for source in range(n_nodes):
            node, length = source, 0
            while force[source] > tolerance:
                if force[node] < -tolerance:
                    _push(a, b, weights, flow, force, path, length, source, node, n_edges)
                    node, length = source, 0
                    continue
                advanced = False
                while cursor[node] < begin[node + 1]:
                    arc = arcs[cursor[node]]
                    head = b[arc] if arc < n_edges else a[arc - n_edges]
                    if (
                        level[head] == level[node] + 1
                        and piece[head] == piece[node]
                        and _room(weights, flow, arc, n_edges) > tolerance
                    ):
                        path[length] = arc
                        node, length = head, length + 1
                        advanced = True
                        break
                    cursor[node] += 1
                if advanced:
                    continue
                if length == 0:
                    break
                # A dead end: back to where we came from, and past the arc that led here.
                length -= 1
                arc = path[length]
                node = a[arc] if arc < n_edges else b[arc - n_edges]
                cursor[node] += 1
    return level


@compiled()
def _layers(a, b, weights, begin, arcs, flow, piece, force, tolerance, level, queue):  # type: ignore[no-untyped-def]
    """Set each node's distance from those that want up, -1 out of reach.

    Returns whether one that wants down is within reach.
    """
    n_edges, end = len(a), 0
    for j in range(len(force)):
        level[j] = -1
        if force[j] > tolerance:
            level[j] = 0
            queue[end] = j
            end += 1
    met, first = False, 0
    while first < end:
        node = queue[first]
        first += 1
        met = met or force[node] < -tolerance
        for place in range(begin[node], begin[node + 1]):
            arc = arcs[place]
            head = b[arc] if arc < n_edges else a[arc - n_edges]
            if level[head] >= 0 or piece[head] != piece[node]:
                continue
            if _room(weights, flow, arc, n_edges) > tolerance:
                level[head] = level[node] + 1
                queue[end] = head
                end += 1
    return met


@compiled()
def _room(weights, flow, arc, n_edges):  # type: ignore[no-untyped-def]
    """What an arc can still carry."""
    return (
        weights[arc] - flow[arc] if arc < n_edges else weights[arc - n_edges] + flow[arc - n_edges]
    )


@compiled()
def _push(a, b, weights, flow, force, path, length, source, sink, n_edges):  # type: ignore[no-untyped-def]
    """Send along a path what its ends want and its arcs bear."""
    amount = min(force[source], -force[sink])
    for step in range(length):
        amount = min(amount, _room(weights, flow, path[step], n_edges))
    for step in range(length):
        arc = path[step]
        if arc < n_edges:
            flow[arc] += amount
        else:
            flow[arc - n_edges] -= amount
    force[source] -= amount
    force[sink] += amount


@compiled()
def _cut(piece, n_pieces, level):  # type: ignore[no-untyped-def]
    """Split the pieces of which a part is still above its mean; returns how many there are."""
    size = np.zeros(n_pieces, np.int64)
    above = np.zeros(n_pieces, np.int64)
    for j in range(len(piece)):
        size[piece[j]] += 1
        above[piece[j]] += level[j] >= 0
    number = np.full(n_pieces, -1)
    n_new = n_pieces
    for p in range(n_pieces):
        # A piece that rounding alone keeps from being flat would be above its mean as a whole.
        if 0 < above[p] < size[p]:
            number[p] = n_new
            n_new += 1
    for j in range(len(piece)):
        if level[j] >= 0 and number[piece[j]] >= 0:
            piece[j] = number[piece[j]]
    return n_new
