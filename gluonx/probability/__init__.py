"""Probability distributions, transformations of random variables, and divergences, as MXNet's ``gluon.probability``.

A distribution holds parameters and computes densities, draws and statistics of them, as any code on ndarrays does: at
once, recorded, in hybridized blocks and in functional views. `gluonx.probability.distribution` says what they share.
"""

from gluonx.probability import constraint as constraint
from gluonx.probability.block import StochasticBlock as StochasticBlock
from gluonx.probability.block import StochasticSequential as StochasticSequential
from gluonx.probability.combined import Independent as Independent
from gluonx.probability.combined import MixtureSameFamily as MixtureSameFamily
from gluonx.probability.combined import TransformedDistribution as TransformedDistribution
from gluonx.probability.continuous import Beta as Beta
from gluonx.probability.continuous import Cauchy as Cauchy
from gluonx.probability.continuous import Chi2 as Chi2
from gluonx.probability.continuous import Exponential as Exponential
from gluonx.probability.continuous import FisherSnedecor as FisherSnedecor
from gluonx.probability.continuous import Gamma as Gamma
from gluonx.probability.continuous import Gumbel as Gumbel
from gluonx.probability.continuous import Laplace as Laplace
from gluonx.probability.continuous import Normal as Normal
from gluonx.probability.continuous import StudentT as StudentT
from gluonx.probability.continuous import Uniform as Uniform
from gluonx.probability.discrete import Bernoulli as Bernoulli
from gluonx.probability.discrete import Binomial as Binomial
from gluonx.probability.discrete import Categorical as Categorical
from gluonx.probability.discrete import Geometric as Geometric
from gluonx.probability.discrete import Multinomial as Multinomial
from gluonx.probability.discrete import NegativeBinomial as NegativeBinomial
from gluonx.probability.discrete import OneHotCategorical as OneHotCategorical
from gluonx.probability.discrete import Poisson as Poisson
from gluonx.probability.distribution import Distribution as Distribution
from gluonx.probability.distribution import ExponentialFamily as ExponentialFamily
from gluonx.probability.kl import empirical_kl as empirical_kl
from gluonx.probability.kl import kl_divergence as kl_divergence
from gluonx.probability.kl import register_kl as register_kl
from gluonx.probability.multivariate import Dirichlet as Dirichlet
from gluonx.probability.multivariate import MultivariateNormal as MultivariateNormal
from gluonx.probability.transformation import AbsTransform as AbsTransform
from gluonx.probability.transformation import AffineTransform as AffineTransform
from gluonx.probability.transformation import ComposeTransform as ComposeTransform
from gluonx.probability.transformation import ExpTransform as ExpTransform
from gluonx.probability.transformation import PowerTransform as PowerTransform
from gluonx.probability.transformation import SigmoidTransform as SigmoidTransform
from gluonx.probability.transformation import SoftmaxTransform as SoftmaxTransform
from gluonx.probability.transformation import Transformation as Transformation
from gluonx.probability.transformation import TransformBlock as TransformBlock
from gluonx.probability.transformation import biject_to as biject_to
from gluonx.probability.transformation import domain_map as domain_map
from gluonx.probability.transformation import transform_to as transform_to
from gluonx.probability.transformed import HalfCauchy as HalfCauchy
from gluonx.probability.transformed import HalfNormal as HalfNormal
from gluonx.probability.transformed import Pareto as Pareto
from gluonx.probability.transformed import RelaxedBernoulli as RelaxedBernoulli
from gluonx.probability.transformed import RelaxedOneHotCategorical as RelaxedOneHotCategorical
from gluonx.probability.transformed import Weibull as Weibull
from gluonx.probability.utils import constraint_check as constraint_check
from gluonx.probability.utils import digamma as digamma
from gluonx.probability.utils import erf as erf
from gluonx.probability.utils import erfinv as erfinv
from gluonx.probability.utils import gammaln as gammaln
from gluonx.probability.utils import logit2prob as logit2prob
from gluonx.probability.utils import prob2logit as prob2logit
from gluonx.probability.utils import sample_n_shape_converter as sample_n_shape_converter
