"""Differential privacy for data that live on curved spaces."""

from riemdp.errors import BudgetExceeded, ConvergenceError, InputError, MechanismError, RiemdpError

__all__ = ["BudgetExceeded", "ConvergenceError", "InputError", "MechanismError", "RiemdpError"]
