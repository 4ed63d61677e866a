"""The verbs of the command `dualwm`. `main` is the table of verbs and the only door; each verb is a module."""
