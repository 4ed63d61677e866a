"""Importing this module makes every built-in part and method known to the registry."""

import dualwm.model.encoder
import dualwm.model.macro
import dualwm.model.window_encoder
import dualwm.zoo.dual_wm_method  # noqa: F401
