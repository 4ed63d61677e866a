"""Section 3.4 of the paper: search, proposals, the three costs, the three-stage controller.

The planner has never met a model: it receives callables that encode, roll and lift. Memory is passed in and out, and
every random number is keyed by (seed, task, decision, search, iteration).
"""
