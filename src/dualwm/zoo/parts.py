"""The registry with everything built in known to it: whoever turns plain data into a method goes through here."""

from typing import Any

from dualwm.model import encoder, macro, window_encoder
from dualwm.registry import from_plain
from dualwm.zoo import dual_wm_method, lewm
from dualwm.zoo.method import Method

BUILT_IN = (encoder, macro, window_encoder, dual_wm_method, lewm)
"""Modules whose parts and methods are registered by being imported."""


def method_from_plain(data: Any, where: str) -> Method:
    """The method of plain data; unknown names and settings are refused by name."""
    return from_plain("method", data, where)
