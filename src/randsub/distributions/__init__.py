"""What is drawn: distributions over subsets of features."""

from randsub.distributions.base import SubsetDistribution
from randsub.distributions.bernoulli import Bernoulli, GroupedBernoulli

__all__ = ["Bernoulli", "GroupedBernoulli", "SubsetDistribution"]
