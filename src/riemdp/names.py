"""The names that arguments take, as types: editors complete them, and a wrong one is found before anything runs.

What is offered is decided where it is made, in `riemdp.mechanisms` and the like; a test compares. Names of statistics
are in `riemdp.statistics.catalogue`, beside the statistics.
"""

from typing import Literal, TypeAlias

MechanismName: TypeAlias = Literal[
    "auto",
    "wrapped-laplace",
    "wrapped-gaussian",
    "riemannian-laplace",
    "kng",
    "extrinsic-laplace",
    "extrinsic-gaussian",
    "pointwise-laplace",
]
SecondMoments: TypeAlias = Literal["auto", "full", "diagonal", "trace"]
SummedMoments: TypeAlias = Literal["full", "diagonal", "trace"]
CalibrationName: TypeAlias = Literal["analytic", "classical"]
FeaturesName: TypeAlias = Literal["tuzel", "five"]
BasisName: TypeAlias = Literal["orthonormal", "pyriemann"]
WhoseMean: TypeAlias = Literal["records", "population"]
MembershipName: TypeAlias = Literal["any", "all", "one"]
HyperbolicModel: TypeAlias = Literal["hyperboloid", "poincare"]
RotationForm: TypeAlias = Literal["matrix", "quaternion", "rotvec"]
