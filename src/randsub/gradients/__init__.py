"""From predictions of sampled models to the gradient in theta."""

from randsub.gradients.score import Baseline, ensemble_output, model_costs, score_gradient
from randsub.gradients.weights import (
    effective_sample_size,
    importance_weights,
    log_weights,
    mixture_log_prob,
)

__all__ = [
    "Baseline",
    "effective_sample_size",
    "ensemble_output",
    "importance_weights",
    "log_weights",
    "mixture_log_prob",
    "model_costs",
    "score_gradient",
]
