"""The command as a person types it: what is recorded beside whatever it made."""

import shlex
import sys


def typed() -> str:
    """This command line, however the program was started (`dualwm`, `python -m dualwm`, by a full path)."""
    return shlex.join(["dualwm", *sys.argv[1:]])
