"""Section 3.2 of the paper: encoders, dynamics and macro-actions at two temporal scales.

Promises tensors in, tensors or States out. Knows nothing of losses, planning, worlds or files.
"""
