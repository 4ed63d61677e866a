"""How fast: workloads that run this package and its peers alternately, in fresh processes with equal threads.

`make bench`, or `python -m bench.run W1 W4 --quick`. A workload is one file `wN_*.py`; what runs in the peers' own
Python is in `peers/` and imports nothing of ours. Nothing of this folder is installed with the package.
"""
