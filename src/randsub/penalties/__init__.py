"""Penalties on alpha, added to the loss: sparsity, smoothness, structure across tasks."""

from randsub.penalties.base import Penalty, Sum
from randsub.penalties.fused_lasso import FusedLasso
from randsub.penalties.row_groups import RowGroups
from randsub.penalties.size import ExpectedSize

__all__ = ["ExpectedSize", "FusedLasso", "Penalty", "RowGroups", "Sum"]
