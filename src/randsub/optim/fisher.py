"""Adam in the metric of the distribution, for any number of features."""

from typing import NamedTuple

import numpy as np

from randsub._compile import compiled
from randsub._numbers import check_number
from randsub._typing import FloatArray
from randsub.optim.base import Optimizer, Projection

# theta (1 - theta) from which on steps have their full length: that of theta = 0.05, where masks of
# problems of moderate width start.
FULL = 0.05 * 0.95
# Steps of rare features shrink with this power of theta (1 - theta). With 1/2, all of them wear out
# the weights alike, and with more features there are more of them; with 1, rare features hardly
# ever rise.
POWER = 0.6
# A squared gradient that is smaller, relative to its second moment, is a rounding error.
ROUNDING = 1e-24
# Number of features at which nu is half of nu_0.
HALF_NOISE = 10_000


class FisherAdamState(NamedTuple):
    """Moments of the gradient, and ``beta2 ** n`` for n observed steps, shape (P, M) each."""

    first: FloatArray
    second: FloatArray
    fading: FloatArray


class FisherAdam(Optimizer):
    r"""Adam with steps that respect the importance weights, and that leave noise alone.

    The importance weights of independent coins multiply. After a step :math:`\delta`, of T masks

    .. math:: T \prod_j \Bigl(1 + \frac{\delta_j^2}{\theta_j (1 - \theta_j)}\Bigr)^{-1}

    are expected to be left as effective sample size. Adam moves every theta by about the learning
    rate, signal or noise; with thousands of features, one such step wears out all masks. Here

    * a step is measured in the metric of the weights, the Fisher information
      :math:`1 / (\theta_j (1 - \theta_j))`;
    * a coordinate moves, and its moments change, only in steps in which some masks hold it and
      others do not: the memory counts observations, so that evidence on features that are rarely
      drawn adds up;
    * it moves in proportion to what is known about its direction.

    With g the projected gradient of an observed step:

    .. math::

        m_j &\leftarrow \beta_1 m_j + (1 - \beta_1) g_j, \qquad
        v_j \leftarrow \beta_2 v_j + (1 - \beta_2) g_j^2, \qquad
        u_j = \frac{m_j}{\sqrt{v_j / (1 - \beta_2^{n_j})} + \epsilon}, \\
        \theta_j &\leftarrow \theta_j - \eta\,
        \min\Bigl(1, \frac{\theta_j (1 - \theta_j)}{0.0475}\Bigr)^{0.6}\,
        u_j\, \frac{u_j^2}{u_j^2 + \nu}, \qquad \nu = \nu_0 \frac{M}{M + 10000},

    where :math:`n_j` counts the observed steps. The first moment starts at 0 and is not corrected
    for it, so that few observations give a small :math:`u_j`. The last factor shrinks steps of
    uncertain direction: where gradients are noise alone, the mean of :math:`u_j^2` is
    :math:`(1 - \beta_1) / (1 + \beta_1)`, and where they agree it is 1. How much steps are shrunk,
    :math:`\nu`, was chosen by experiments. It grows with the number of features M: a few that
    follow noise return by themselves, thousands of them wear out the models.

    Parameters
    ----------
    learning_rate : float, default=1.2e-3
        Step size :math:`\eta`.
    beta1, beta2 : float, default=0.9 and 0.999
        Decay rates of the first and the second moment.
    eps : float, default=1e-8
        Keeps the step finite where the gradient has always been 0.
    noise : float, default=0.5
        :math:`\nu_0`; with 0, noise moves as far as signal.
    """

    def __init__(
        self,
        learning_rate: float = 1.2e-3,
        beta1: float = 0.9,
        beta2: float = 0.999,
        eps: float = 1e-8,
        noise: float = 0.5,
    ) -> None:
        self.learning_rate = learning_rate
        self.beta1 = beta1
        self.beta2 = beta2
        self.eps = eps
        self.noise = noise

    def check(self) -> None:
        """The learning rate must be positive, the moments must fade."""
        check_number(self, "learning_rate", 0.0, open_low=True)
        check_number(self, "beta1", 0.0, 1.0)
        check_number(self, "beta2", 0.0, 1.0)
        check_number(self, "eps", 0.0, open_low=True)
        check_number(self, "noise", 0.0)

    def init(self, theta: FloatArray) -> FisherAdamState:
        """Moments of 0, nothing observed."""
        return FisherAdamState(np.zeros_like(theta), np.zeros_like(theta), np.ones_like(theta))

    def update(
        self, gradient: FloatArray, state: FisherAdamState, theta: FloatArray, project: Projection
    ) -> tuple[FloatArray, FisherAdamState]:
        """One step; see the class for the formula."""
        moved = theta.copy()
        memory = FisherAdamState(*(part.copy() for part in state))
        _step(
            gradient,
            project(theta - gradient),
            moved,
            *memory,
            float(self.learning_rate),
            float(self.beta1),
            float(self.beta2),
            float(self.eps),
            self.noise * theta.shape[1] / (theta.shape[1] + HALF_NOISE),
        )
        return project(moved), memory


@compiled()
def _step(  # type: ignore[no-untyped-def]
    gradient, towards, theta, first, second, fading, rate, beta1, beta2, eps, noise
):
    """Theta before its projection and the moments, in place; all have shape (P, M)."""
    for task in range(theta.shape[0]):
        for j in range(theta.shape[1]):
            g = gradient[task, j]
            if g * g <= ROUNDING * second[task, j]:
                # Held by no mask, or by all of them.
                continue
            a = theta[task, j]
            if towards[task, j] == a:
                # The step would leave the domain.
                g = 0.0
            m = beta1 * first[task, j] + (1.0 - beta1) * g
            v = beta2 * second[task, j] + (1.0 - beta2) * g * g
            fading[task, j] *= beta2
            first[task, j], second[task, j] = m, v
            u = m / (np.sqrt(v / (1.0 - fading[task, j])) + eps)
            squared = u * u
            if squared > 0.0:
                variance = max(a * (1.0 - a), 0.0)
                u *= squared / (squared + noise)
                theta[task, j] = a - rate * u * min(1.0, variance / FULL) ** POWER
