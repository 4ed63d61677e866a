"""Tables and pages from recorded outcomes. Reads records only: no torch, no simulator, no weights."""
