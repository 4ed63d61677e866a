"""Eight tiny systems that the same rooms must take: each a file of its own, known to nobody else.

A file has METHOD, the system at toy size, and PLANNER, its planner settings.
"""
