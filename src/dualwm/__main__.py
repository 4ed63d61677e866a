"""`python -m dualwm` is the command `dualwm`."""

import sys

from dualwm.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
