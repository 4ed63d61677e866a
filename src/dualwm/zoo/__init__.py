"""Who everyone is: methods composed from the rooms, System folders, and what introduces the rooms to each other."""

from dualwm.zoo.evaluation import evaluate
from dualwm.zoo.shell import Planner
from dualwm.zoo.system import System, load

__all__ = ["Planner", "System", "evaluate", "load"]
