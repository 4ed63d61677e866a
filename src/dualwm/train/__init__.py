"""Fitting a model stage by stage: any number of processes, exact resume, live progress. Methods come in as `Stage`s."""
