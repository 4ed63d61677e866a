"""Axis letters used in every tensor annotation, one meaning each.

letter  meaning                               letter  meaning
b       tasks or samples in a batch           m       macro time (high-level steps)
s       candidates of one search              k       low-level steps per high-level step
t       low-level model time (observed)       d       latent width
n       rollout length (predicted)            a       model action width, frame_skip * action_dim
h       planning horizon                      u       macro-action width
p       patches of one frame                  c       environment steps in an action chunk
q       proprioceptive width                  e       elites

`*z` stands for whatever a latent's own axes are: `d` for vectors, `p d` for patch grids.
Models never see the candidate axis: `plan.costs` folds `(b s)` once.
"""

from jaxtyping import Bool, Float, Int, UInt8
from torch import Tensor

__all__ = ["Bool", "Float", "Int", "Tensor", "UInt8"]
