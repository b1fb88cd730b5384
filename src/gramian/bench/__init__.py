"""Benchmarks on tables: the same rows for every method, untuned defaults, results that survive an interrupt.

May import every room but ``cli``. ``tasks`` knows the tables and their splits, ``methods`` the learners, ``runner``
runs cells (suite, set, split, method) in worker processes and keeps them in a file of JSON lines, ``metrics`` are the
pure functions of paper B's appendix E, ``summary`` makes tables of them.

>>> import numpy as np
>>> from gramian.bench.metrics import friedman_rank
>>> friedman_rank(np.array([[0.9, 0.8], [0.7, 0.7]])).tolist()
[1.25, 1.75]
"""
