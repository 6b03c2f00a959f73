"""Every published method of learning to defer on every experiment that it fits, with the same inputs and networks.

`problem` makes one seed of an experiment, `figures` what every method gets on it, and `run_methods` the tables.
"""

from askwho_studies.paper.methods._figures import Figures, figures
from askwho_studies.paper.methods._problem import EXPERIMENTS, Problem, problem
from askwho_studies.paper.methods._registry import METHODS, Method
from askwho_studies.paper.methods._study import run_methods

__all__ = ["EXPERIMENTS", "METHODS", "Figures", "Method", "Problem", "figures", "problem", "run_methods"]
