"""Expressions on `P` (gluon.probability), `C` (its constraints) and `np`, which MXNet and gluonx both compute."""

import inspect

MADE = {
    "Normal": "P.Normal(np.array([[0.5], [-1.0]]), np.array([0.7, 2.0, 1.0]))",
    "Uniform": "P.Uniform(np.array([-1.0, 0.0]), np.array([1.5, 4.0]))",
    "Laplace": "P.Laplace(np.array([0.5, -1.0]), np.array([0.7, 2.0]))",
    "Cauchy": "P.Cauchy(np.array([0.5, -1.0]), np.array([0.7, 2.0]))",
    "Gumbel": "P.Gumbel(np.array([0.5, -1.0]), np.array([0.7, 2.0]))",
    "Exponential": "P.Exponential(np.array([0.7, 2.0]))",
    "Gamma": "P.Gamma(np.array([0.7, 3.0]), np.array([2.0, 0.5]))",
    "Chi2": "P.Chi2(np.array([1.5, 4.0]))",
    "Beta": "P.Beta(np.array([0.7, 3.0]), np.array([2.0, 0.5]))",
    "StudentT": "P.StudentT(np.array([2.5, 6.0]), np.array([0.5, -1.0]), np.array([0.7, 2.0]))",
    "FisherSnedecor": "P.FisherSnedecor(np.array([2.5, 6.0]), np.array([4.5, 7.0]))",
    "HalfNormal": "P.HalfNormal(np.array([0.7, 2.0]))",
    "HalfCauchy": "P.HalfCauchy(np.array([0.7, 2.0]))",
    "Pareto": "P.Pareto(np.array([2.5, 4.0]), np.array([0.2, 0.5]))",
    "Weibull": "P.Weibull(np.array([0.7, 2.0]), np.array([1.5, 0.5]))",
    "Bernoulli": "P.Bernoulli(np.array([0.2, 0.7]))",
    "Bernoulli-logit": "P.Bernoulli(logit=np.array([-1.0, 0.5]))",
    "Geometric": "P.Geometric(np.array([0.2, 0.7]))",
    "Binomial": "P.Binomial(5, np.array([0.2, 0.7]))",
    "NegativeBinomial": "P.NegativeBinomial(np.array([3.0, 2.0]), np.array([0.2, 0.7]))",
    "Poisson": "P.Poisson(np.array([0.7, 3.0]))",
    "RelaxedBernoulli": "P.RelaxedBernoulli(np.array(0.5), np.array([0.2, 0.7]))",
    "Categorical": "P.Categorical(3, np.array([[0.2, 0.3, 0.5], [0.6, 0.3, 0.1]]))",
    "OneHotCategorical": "P.OneHotCategorical(3, np.array([[0.2, 0.3, 0.5], [0.6, 0.3, 0.1]]))",
    "Multinomial": "P.Multinomial(3, np.array([[0.2, 0.3, 0.5], [0.6, 0.3, 0.1]]), total_count=4)",
    "Dirichlet": "P.Dirichlet(np.array([[0.7, 1.0, 3.0], [2.0, 0.5, 1.0]]))",
    "MultivariateNormal": "P.MultivariateNormal(np.array([[0.0, 1.0], [2.0, 0.5]]), "
    "np.array([[2.0, 0.5], [0.5, 1.0]]))",
    "RelaxedOneHotCategorical": "P.RelaxedOneHotCategorical(np.array(0.5), 3, np.array([0.2, 0.3, 0.5]))",
    "Independent": "P.Independent(P.Normal(np.zeros((2, 3)), np.array([1.0, 2.0, 3.0])), 1)",
    "TransformedDistribution": "P.TransformedDistribution(P.Normal(np.array([0.5, -1.0]), 2.0), "
    "[P.AffineTransform(1.0, -2.0), P.SigmoidTransform()])",
}
VALUES = {
    "Multinomial": "np.array([[1.0, 2.0, 1.0], [4.0, 0.0, 0.0]])",
    "OneHotCategorical": "np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]])",
    "Categorical": "np.array([1, 2])",
    "Dirichlet": "np.array([0.2, 0.3, 0.5])",
    "RelaxedOneHotCategorical": "np.array([0.2, 0.3, 0.5])",
    "MultivariateNormal": "np.array([0.5, 0.2])",
    "Independent": "np.array([0.5, 0.2, -1.0])",
    "Normal": "np.array([0.5, 0.2, -1.0])",
    **dict.fromkeys(["Bernoulli", "Bernoulli-logit", "Geometric", "Binomial", "NegativeBinomial", "Poisson"],
                    "np.array([1.0, 0.0])"),
}  # fmt: skip
CALLS = [
    "{}.log_prob({})", "{}.cdf({})", "{}.icdf(np.array([0.2, 0.6]))", "{}.mean", "{}.variance", "{}.stddev",
    "{}.entropy()", "{}.perplexity()", "{}.event_dim", "{}.has_enumerate_support", "{}.enumerate_support()",
    "{}.sample().shape", "{}.sample_n(4).shape", "{}.sample_n((4, 5)).shape", "str({}.sample().dtype)",
]  # fmt: skip
SINGLE = [
    "P.Normal(0, 1).sample(3).shape",
    "P.Normal(0, 1).log_prob(0.5)",
    "P.Normal(0, 1).entropy()",
    "P.Normal(np.zeros((2, 3)), np.ones(3)).sample((4, 2, 3)).shape",
    "P.Dirichlet(np.ones((4, 3))).sample((5, 4)).shape",
    "P.Categorical(3, np.ones((4, 3)) / 3).sample((5, 4)).shape",
    "P.OneHotCategorical(3, np.ones((4, 3)) / 3).sample((5, 4)).shape",
    "P.Multinomial(3, np.ones((4, 3)) / 3, total_count=5).sample((2, 4)).shape",
    "P.MultivariateNormal(np.zeros((5, 3)), np.eye(3)).sample((2, 5)).shape",
    "P.MultivariateNormal(np.zeros(2), precision=np.array([[2.0, 0.5], [0.5, 1.0]])).cov",
    "P.MultivariateNormal(np.zeros(2), precision=np.array([[2.0, 0.5], [0.5, 1.0]])).scale_tril",
    "P.Independent(P.Normal(np.zeros((4, 3)), 1.0), 1).sample((2, 4, 3)).shape",
    "P.Categorical(3, np.ones(3) / 3).broadcast_to((2, 4)).prob.shape",
    "P.Chi2(np.array(3.0)).broadcast_to((2,)).df",
    "P.Normal(0, 1).broadcast_to((2, 3)).loc.shape",
    "P.Bernoulli(np.array(0.3)).logit",
    "P.Categorical(2, np.array([0.3, 0.7])).logit",
    "P.Categorical(2, logit=np.array([0.3, 0.7])).prob",
    "P.AffineTransform(1.0, np.array([2.0, 3.0]), 1).log_det_jacobian(np.zeros((3, 2)), np.zeros((3, 2)))",
    "P.ComposeTransform([P.ExpTransform(), P.SigmoidTransform()]).log_det_jacobian(np.array(1.0), np.array(0.938))",
    "P.ExpTransform().inv.log_det_jacobian(np.array(2.0), np.array(0.6931472))",
    "P.PowerTransform(2.0).log_det_jacobian(np.array(3.0), np.array(9.0))",
    "P.biject_to(C.Interval(1, 2))(np.array(0.3))",
    "P.biject_to(C.GreaterThan(1))(np.array(0.3))",
    "P.biject_to(C.LessThan(1))(np.array(0.3))",
    "P.prob2logit(np.array([0.0, 0.3, 1.0]))",
    "P.prob2logit(np.array([0.3, 0.7]), False)",
    "P.logit2prob(np.array([0.3, 0.7]))",
    "P.logit2prob(np.array([0.3, 0.7]), False)",
    "P.gammaln()(3.0)",
    "P.digamma()(np.array(1.0))",
    "P.erf()(0.5)",
    "P.erfinv()(0.3)",
    "P.sample_n_shape_converter(3)",
    "P.kl_divergence(P.Normal(0, 1), P.Normal(1.0, 2))",
    "P.kl_divergence(P.Gamma(np.array(2.0), 0.7), P.Gamma(0.6, 2.0))",
    "P.kl_divergence(P.Pareto(np.array(2.0), 2.0), P.Pareto(2.5, 1.0))",
    "P.kl_divergence(P.Gumbel(np.array(2.0), 2.0), P.Gumbel(2.5, 1.0))",
    "P.kl_divergence(P.Exponential(np.array(2.0)), P.Gamma(2.5, 2.0))",
    "P.kl_divergence(P.Exponential(np.array(2.0)), P.Gumbel(0.5, 2.0))",
    "P.kl_divergence(P.Uniform(np.array(0.0), 1.0), P.Gumbel(0.5, 2.0))",
    "P.kl_divergence(P.Beta(np.array(2.0), 1.0), P.Beta(0.5, 2.0))",
    "P.kl_divergence(P.Dirichlet(np.array([2.0, 1.0])), P.Dirichlet(np.array([0.5, 2.0])))",
    "P.kl_divergence(P.Categorical(2, np.array([0.3, 0.7])), P.Categorical(2, np.array([0.6, 0.4])))",
    "P.kl_divergence(P.MultivariateNormal(np.zeros(3), np.eye(3)), P.MultivariateNormal(np.ones(3), 2 * np.eye(3)))",
    "P.empirical_kl(P.Normal(np.zeros((2, 3)), 1), P.Normal(1.0, 2), 10).shape",
    "P.Normal(0, -1, validate_args=True)",
    "P.Categorical(0, np.ones(3))",
    "P.Categorical(3)",
    "P.Binomial(2.5, 0.3)",
    "P.MultivariateNormal(np.zeros(3))",
    "P.Multinomial(3, np.ones(3) / 3, total_count=np.ones(4))",
    "P.kl_divergence(P.Normal(0, 1), P.Cauchy(0, 1))",
]


def expressions():
    """All of them."""
    made = [call.format(MADE[n], VALUES.get(n, "np.array([0.6, 0.9])")) for n in MADE for call in CALLS]
    return [*made, *SINGLE]


def result(expression, names):
    """Evaluate an expression to JSON: {"value", "shape"} of arrays and numbers, or {"error"}."""
    try:
        found = eval(expression, dict(names))
    except Exception as error:
        return {"error": type(error).__name__}
    if hasattr(found, "asnumpy"):
        return {"value": found.asnumpy().tolist(), "shape": list(found.shape)}
    return {"value": list(found) if isinstance(found, tuple) else getattr(found, "item", lambda: found)(), "shape": []}


def public(module):
    """The public classes and functions of a module that are of its package."""
    package = module.__name__.split(".distributions")[0]
    kinds = [n for n in dir(module) if not n.startswith("_") and not inspect.ismodule(getattr(module, n))]
    return [n for n in kinds if callable(getattr(module, n)) and getattr(module, n).__module__.startswith(package)]


def signatures(found):
    """Parameters with their defaults of a function, or of a class and of its public methods."""
    if not inspect.isclass(found):
        return {"": listed(found)}
    methods = {
        name: "property" if isinstance(inspect.getattr_static(found, name), property) else getattr(found, name)
        for name in dir(found)
        if not name.startswith("_") and name not in dir(object)
    }
    rows = {name: m if m == "property" else listed(m) for name, m in methods.items() if m == "property" or callable(m)}
    # What a class has from Block is the matter of other tests.
    return {"": listed(found)} | ({} if "forward" in rows else rows)


def listed(function):
    """`a, b=1` as [["a"], ["b", "1"]]."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except ValueError:
        return None
    return [[p.name] + ([] if p.default is p.empty else [repr(p.default)]) for p in parameters if p.name != "self"]
