"""How annotations are checked under pytest: by beartype, told that a method may return `Self`."""

from functools import partial
from typing import Any, Self

from beartype import BeartypeConf, FrozenDict, beartype

check = partial(beartype, conf=BeartypeConf(hint_overrides=FrozenDict({Self: Any})))
