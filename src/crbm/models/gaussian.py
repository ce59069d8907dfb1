"""A CRBM over real outputs with learned noise, exact by summing over hidden states."""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Generator, Tensor, nn

from crbm import checks, sampling
from crbm.models.base import small_normal

MOST_HIDDEN = 14
LOG_2PI = math.log(2 * math.pi)
WIDEST = math.log(2)  # of the initial values of log s


class GaussianMixture(NamedTuple):
    """A mixture of Gaussians per case, one for each state of the hidden units.

    Parameters
    ----------
    weight
        The probability of each hidden state.
    offset, shifts
        The mean of a case given a hidden state is the sum of the two.
    covariance
        The noise around these means.
    spread
        By how much each hidden state widens the noise.
    """

    weight: Float[Tensor, "cases states"]
    offset: Float[Tensor, "cases targets"]
    shifts: Float[Tensor, "states targets"]
    covariance: Float[Tensor, "targets targets"]
    spread: Float[Tensor, " states"]

    def detach(self) -> GaussianMixture:
        """The same mixture without its autograd history."""
        return GaussianMixture(*(part.detach() for part in self))

    def mean(self) -> Float[Tensor, "cases targets"]:
        """E[y]."""
        return self.offset + self.weight @ self.shifts

    def cov(self) -> Float[Tensor, "cases targets targets"]:
        """Cov[y]: the noise, and how the means differ between hidden states."""
        mean = self.weight @ self.shifts
        n_targets = mean.shape[1]
        outer = (self.shifts[:, :, None] * self.shifts[:, None]).flatten(1)
        second = (self.weight @ outer).unflatten(1, (n_targets, n_targets))
        variance = self.weight @ self.spread.square()
        noise = variance[:, None, None] * self.covariance
        return noise + second - mean[:, :, None] * mean[:, None]

    def sample(self, generator: Generator) -> Float[Tensor, "cases targets"]:
        """One sample per case."""
        state = torch.multinomial(self.weight, 1, generator=generator).squeeze(1)
        # known targets have no noise, so the covariance may be singular
        values, vectors = torch.linalg.eigh(self.covariance)
        root = vectors * values.clamp(min=0).sqrt()
        noise = self.spread[state, None] * sampling.normal(self.offset, generator)
        return self.offset + self.shifts[state] + noise @ root.T


class GaussianCRBM(nn.Module):
    """p(r | u) of real outputs r that depend on each other through hidden units.

    Given the binary hidden units h and the spread s, r is Gaussian with mean
    `bias_v + weight_vh h` and the covariance s^2 L L^T. So p(r | u) is a mixture of
    2^n_hidden times n_spreads Gaussians whose weights depend on the input; all sums
    over hidden states are exact.

    Parameters
    ----------
    n_inputs, n_visible, n_hidden
        Sizes of u, r and h; at most 14 hidden units.
    generator
        Source of the initial weights.
    full
        Whether the noise of the outputs is correlated; otherwise each has a variance of
        its own.
    n_spreads
        The number of values of s, a hidden unit that depends on the input: the noise
        is wider for some inputs, and has heavy tails. 1 is the same noise for all.
    init_scale
        Standard deviation of the initial couplings.
    dtype
        As everywhere in torch.

    Notes
    -----
    With x = L^-1 (r - b) for the covariance L L^T, the energy is that of a CRBM with
    Gaussian outputs of variance 1: E(x, h) = |x|^2 / 2 - x V h - h c(u), V = L^-1 W.

    Examples
    --------
    >>> model = GaussianCRBM(n_inputs=4, n_visible=3, n_hidden=2)
    >>> model.log_density(torch.ones(5, 4), torch.zeros(5, 3)).shape
    torch.Size([5])
    """

    def __init__(
        self,
        n_inputs: int,
        n_visible: int,
        n_hidden: int,
        generator: Generator | None = None,
        *,
        full: bool = True,
        n_spreads: int = 1,
        init_scale: float = 0.1,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        checks.whole_number("n_hidden", n_hidden, at_least=0)
        if n_hidden > MOST_HIDDEN:
            raise ValueError(
                f"`n_hidden` must be at most {MOST_HIDDEN}, as all 2^n_hidden hidden "
                f"states are summed over; got {n_hidden}. For more hidden units train "
                "crbm.CRBM(visible=crbm.units.Gaussian()) by ContrastiveDivergence."
            )
        self.n_inputs, self.n_visible, self.n_hidden = n_inputs, n_visible, n_hidden
        self.full = full

        def weights(*shape: int, scale: float) -> nn.Parameter:
            return small_normal(
                *shape, generator=generator, dtype=dtype, device=None, scale=scale
            )

        self.weight_vh = weights(n_visible, n_hidden, scale=init_scale)
        self.weight_uh = weights(n_inputs, n_hidden, scale=0.01)
        self.bias_v = nn.Parameter(torch.zeros(n_visible, dtype=dtype))
        self.bias_h = nn.Parameter(torch.zeros(n_hidden, dtype=dtype))
        self.log_scale = nn.Parameter(torch.zeros(n_visible, dtype=dtype))
        n_below = n_visible * (n_visible - 1) // 2 if full else 0
        self.below = nn.Parameter(torch.zeros(n_below, dtype=dtype))
        checks.whole_number("n_spreads", n_spreads, at_least=1)
        self.log_spread = self.weight_us = self.bias_s = None
        if n_spreads > 1:
            steps = torch.linspace(-WIDEST, WIDEST, n_spreads, dtype=dtype)
            self.log_spread = nn.Parameter(steps)
            self.weight_us = nn.Parameter(torch.zeros(n_inputs, n_spreads, dtype=dtype))
            self.bias_s = nn.Parameter(torch.zeros(n_spreads, dtype=dtype))

    @torch.no_grad()
    def start_noise(self, covariance: Float[Tensor, "visible visible"]) -> None:
        """Initialise the noise and the scale of the couplings from a covariance."""
        if not self.full:
            covariance = torch.diag(covariance.diagonal())
        root = torch.linalg.cholesky(covariance)
        self.log_scale.copy_(root.diagonal().log())
        self.weight_vh.copy_(root @ self.weight_vh)
        if self.full:
            unit = root / root.diagonal()[:, None]
            self.below.copy_(unit[self._places])

    @torch.no_grad()
    def make_gaussian(self) -> None:
        """Switch off what the hidden units do: one Gaussian for all inputs."""
        self.weight_vh.zero_()
        if self.log_spread is not None:
            self.log_spread.zero_()

    @property
    def _places(self) -> tuple[Tensor, Tensor]:
        rows, columns = torch.tril_indices(self.n_visible, self.n_visible, -1)
        return rows, columns

    def root(self) -> Float[Tensor, "visible visible"]:
        """L, lower triangular, of the noise covariance L L^T."""
        unit = torch.eye(self.n_visible, dtype=self.log_scale.dtype)
        if self.full:
            unit = unit.index_put(self._places, self.below)
        return unit * self.log_scale.exp()[:, None]

    def states(self) -> Float[Tensor, "states hidden"]:
        """All hidden states."""
        numbers = torch.arange(2**self.n_hidden)[:, None]
        bits = numbers >> torch.arange(self.n_hidden - 1, -1, -1) & 1
        return bits.to(self.bias_h.dtype)

    def log_weights(
        self, u: Float[Tensor, "cases inputs"]
    ) -> Float[Tensor, "cases states"]:
        """Log p(h | u) of the binary units, up to a constant per case."""
        states, root = self.states(), self.root()
        couplings = torch.linalg.solve_triangular(root, self.weight_vh, upper=False)
        field = u @ self.weight_uh + self.bias_h
        return field @ states.T + (states @ couplings.T).square().sum(1) / 2

    def spreads(self) -> Float[Tensor, " spreads"]:
        """The values of s."""
        if self.log_spread is None:
            return self.bias_h.new_ones(1)
        return self.log_spread.exp()

    def log_prior(
        self, u: Float[Tensor, "cases inputs"]
    ) -> Float[Tensor, "cases states spreads"]:
        """Log p(h, s | u)."""
        own = self.log_weights(u).log_softmax(1)[..., None]
        if self.weight_us is None or self.bias_s is None:
            return own
        return own + (u @ self.weight_us + self.bias_s).log_softmax(1)[:, None]

    def mean(self, u: Float[Tensor, "cases inputs"]) -> Float[Tensor, "cases visible"]:
        """E[r | u]."""
        h = self.log_weights(u).softmax(1) @ self.states()
        return self.bias_v + h @ self.weight_vh.T

    def log_density(
        self, u: Float[Tensor, "cases inputs"], r: Float[Tensor, "cases visible"]
    ) -> Float[Tensor, " cases"]:
        """Log p(r | u); outputs that are not known (NaN) are integrated out."""
        prior = self.log_prior(u)
        found = prior.new_zeros(len(r))
        for rows, known in patterns(r):
            joint = prior[rows] + self._evidence(r[rows][:, known], known)
            found = found.index_add(0, rows, joint.flatten(1).logsumexp(1))
        return found

    def _evidence(
        self, r: Tensor, known: Tensor
    ) -> Float[Tensor, "cases states spreads"]:
        """Log density of the known outputs given each hidden state."""
        covariance = (self.root() @ self.root().T)[known][:, known]
        root = torch.linalg.cholesky(covariance)
        shifts = self.states() @ self.weight_vh[known].T
        x, means = (
            torch.linalg.solve_triangular(root, part.T, upper=False).T
            for part in (r - self.bias_v[known], shifts)
        )
        distance = x.square().sum(1)[:, None] + means.square().sum(1) - 2 * x @ means.T
        spread = self.spreads()
        size = root.diagonal().log().sum() + len(root) * (spread.log() + LOG_2PI / 2)
        return -distance[..., None] / (2 * spread.square()) - size

    def mixture(
        self, u: Float[Tensor, "cases inputs"], r: Float[Tensor, "cases visible"] | None
    ) -> GaussianMixture:
        """p(r | u) given the known outputs, the same ones (not NaN) in all cases."""
        covariance = self.root() @ self.root().T
        spread = self.spreads()
        shifts = (self.states() @ self.weight_vh.T).repeat_interleave(len(spread), 0)
        spread = spread.repeat(2**self.n_hidden)
        offset = self.bias_v.expand(len(u), -1)
        prior = self.log_prior(u)
        known = None if r is None else ~r[0].isnan()
        if r is None or known is None or not known.any():
            weight = prior.flatten(1).exp()
            return GaussianMixture(weight, offset, shifts, covariance, spread)
        weight = (prior + self._evidence(r[:, known], known)).flatten(1).softmax(1)
        gain = torch.linalg.solve(covariance[known][:, known], covariance[known]).T
        moved = offset + (r[:, known] - self.bias_v[known]) @ gain.T
        return GaussianMixture(
            weight,
            torch.where(known, r, moved),
            torch.where(known, 0, shifts - shifts[:, known] @ gain.T),
            torch.where(
                known | known[:, None], 0, covariance - gain @ covariance[known]
            ),
            spread,
        )


def patterns(r: Float[Tensor, "cases visible"]) -> list[tuple[Tensor, Tensor]]:
    """The rows that share which outputs are known, and those outputs."""
    known, place = (~r.isnan()).unique(dim=0, return_inverse=True)
    return [((place == i).nonzero().squeeze(1), own) for i, own in enumerate(known)]
