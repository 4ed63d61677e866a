"""Tasks, the closed loop, and what came of it: the same for every method.

Reads worlds, stores and controllers only through the protocols in `needs`; cannot tell one method from another.
"""
