"""Episodes become windows: the store, its split and normaliser, and the one place where frame skip is applied.

Promises that an episode on disk is there whole or not at all, that reading needs no more memory than what is returned,
and that a window's actions and frames are aligned. Knows nothing of worlds, models or planning: who draws pictures from
states passes a function in.
"""
