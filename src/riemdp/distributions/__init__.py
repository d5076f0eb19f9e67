"""Laws on the spaces, drawn exactly: no Markov chain."""

from riemdp.distributions.riemannian import RiemannianGaussian, RiemannianLaplace

__all__ = ["RiemannianGaussian", "RiemannianLaplace"]
