# Made by `python -m tools.stubs --write` with JAX 0.10; do not edit.
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Self

from numpy import dtype as _dtype
from numpy.typing import ArrayLike

from gluonx.compat.nd.ndarray import NDArray as NDArray
from gluonx.ops.prng import seed as seed

def binomial(n: Any = 1, p: Any = 0.5, shape: Any = None, dtype: Any = None, ctx: Any = None, out: Any = None, **kw: Any) -> Any:
    """Sample the number of successes in `n` trials."""
def binomial_like(data: Any, n: Any = 1.0, p: Any = 1.0, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``_random_binomial_like(data; n: float=1.0, p: float=1.0)``. Core operators: random_binomial."""
def categorical(data: Any = None, shape: Any = None, get_prob: bool = False, out: Any = None, dtype: Any = 'int32', **kw: Any) -> Any:
    """Class numbers by the probabilities in the last axis of `data`."""
def exponential(scale: Any = 1, shape: Any = None, dtype: Any = None, ctx: Any = None, out: Any = None, **kw: Any) -> Any:
    """Return the exponential distribution of mean `scale`."""
def exponential_like(data: Any, lam: Any = 1.0, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``_random_exponential_like(data; lam: float=1.0)``. Core operators: divide, random_exponential."""
def gamma(alpha: Any = 1, beta: Any = 1, shape: Any = None, dtype: Any = None, ctx: Any = None, out: Any = None, **kw: Any) -> Any:
    """Return the gamma distribution of shape parameter `alpha` and scale `beta`."""
def gamma_like(data: Any, alpha: Any = 1.0, beta: Any = 1.0, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``_random_gamma_like(data; alpha: float=1.0, beta: float=1.0)``. Core operators: random_gamma."""
def generalized_negative_binomial(mu: Any = 1, alpha: Any = 1, shape: Any = None, dtype: Any = None, ctx: Any = None, out: Any = None, **kw: Any) -> Any:
    """Return the negative binomial distribution of mean `mu` and dispersion `alpha`."""
def generalized_negative_binomial_like(data: Any, mu: Any = 1.0, alpha: Any = 1.0, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``_random_generalized_negative_binomial_like(data; mu: float=1.0, alpha: float=1.0)``. Core operators: random_gamma, random_poisson."""
def multinomial(data: Any = None, shape: Any = None, get_prob: bool = False, out: Any = None, dtype: Any = 'int32', **kw: Any) -> Any:
    """Class numbers by the probabilities in the last axis of `data`."""
def negative_binomial(k: Any = 1, p: Any = 1, shape: Any = None, dtype: Any = None, ctx: Any = None, out: Any = None, **kw: Any) -> Any:
    """Sample the number of failures before the `k`-th success."""
def negative_binomial_like(data: Any, k: Any = 1.0, p: Any = 1.0, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``_random_negative_binomial_like(data; k: float=1.0, p: float=1.0)``. Core operators: random_negative_binomial."""
def normal(loc: Any = 0, scale: Any = 1, shape: Any = None, dtype: Any = None, ctx: Any = None, out: Any = None, **kw: Any) -> Any:
    """Return the normal distribution."""
def normal_like(data: Any, loc: Any = 0.0, scale: Any = 1.0, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``_random_normal_like(data; loc: float=0.0, scale: float=1.0)``. Core operators: random_normal."""
def pdf_dirichlet(sample: Any, alpha: Any, is_log: Any = False, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``_random_pdf_dirichlet(sample, alpha; is_log: bool=False)``. Core operators: log, exp."""
def pdf_exponential(sample: Any, lam: Any, is_log: Any = False, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``_random_pdf_exponential(sample, lam; is_log: bool=False)``. Core operators: log, exp."""
def pdf_gamma(sample: Any, alpha: Any, beta: Any, is_log: Any = False, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``_random_pdf_gamma(sample, alpha, beta; is_log: bool=False)``. Core operators: log, exp."""
def pdf_generalized_negative_binomial(sample: Any, mu: Any, alpha: Any, is_log: Any = False, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``_random_pdf_generalized_negative_binomial(sample, mu, alpha; is_log: bool=False)``. Core operators: log, exp."""
def pdf_negative_binomial(sample: Any, k: Any, p: Any, is_log: Any = False, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``_random_pdf_negative_binomial(sample, k, p; is_log: bool=False)``. Core operators: log, exp."""
def pdf_normal(sample: Any, mu: Any, sigma: Any, is_log: Any = False, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``_random_pdf_normal(sample, mu, sigma; is_log: bool=False)``. Core operators: log, exp."""
def pdf_poisson(sample: Any, lam: Any, is_log: Any = False, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``_random_pdf_poisson(sample, lam; is_log: bool=False)``. Core operators: log, exp."""
def pdf_uniform(sample: Any, low: Any, high: Any, is_log: Any = False, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``_random_pdf_uniform(sample, low, high; is_log: bool=False)``. Core operators: log, exp."""
def poisson(lam: Any = 1, shape: Any = None, dtype: Any = None, ctx: Any = None, out: Any = None, **kw: Any) -> Any:
    """Return the Poisson distribution of rate `lam`, as floats."""
def poisson_like(data: Any, lam: Any = 1.0, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``_random_poisson_like(data; lam: float=1.0)``. Core operators: random_poisson."""
def randint(low: int, high: int, shape: Any = None, dtype: Any = None, ctx: Any = None, out: Any = None, **kw: Any) -> Any:
    """Whole numbers from `low` to below `high`."""
def randn(*shape: int, loc: Any = 0, scale: Any = 1, dtype: Any = None, ctx: Any = None, **kw: Any) -> Any:
    """Return the normal distribution, the shape given as arguments."""
def shuffle(data: Any, **kwargs: Any) -> Any:
    """Return the rows in random order."""
def uniform(low: Any = 0, high: Any = 1, shape: Any = None, dtype: Any = None, ctx: Any = None, out: Any = None, **kw: Any) -> Any:
    """Numbers spread evenly over ``[low, high)``."""
def uniform_like(data: Any, low: Any = 0.0, high: Any = 1.0, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``_random_uniform_like(data; low: float=0.0, high: float=1.0)``. Core operators: random_uniform."""
