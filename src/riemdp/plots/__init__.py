"""Pictures of releases, of predicted errors and of guarantees, made from public things alone.

Every function returns a matplotlib Figure of its own, which a notebook shows and `save_figure` writes; or draws on the
axes or the figure that it is given. Colours are those of Okabe and Ito, which colour-blind people tell apart; markers
and line styles differ too, for print in grey.
"""

from riemdp.plots.guarantees import is_exact_tradeoff, plot_tradeoff, symbolic, tradeoff
from riemdp.plots.panels import simulated_releases
from riemdp.plots.releases import PICTURES, plot_release
from riemdp.plots.style import check_picture_path, figure_bytes, save_figure
from riemdp.plots.summaries import plot_comparison, plot_scree, plot_summary
from riemdp.plots.utility import STYLES, plot_utility

__all__ = [
    "PICTURES",
    "STYLES",
    "check_picture_path",
    "figure_bytes",
    "is_exact_tradeoff",
    "plot_comparison",
    "plot_release",
    "plot_scree",
    "plot_summary",
    "plot_tradeoff",
    "plot_utility",
    "save_figure",
    "simulated_releases",
    "symbolic",
    "tradeoff",
]
