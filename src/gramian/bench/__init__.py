"""Benchmarks on tables: the same rows for every method, untuned defaults, resumable runs.

A cell is one method on one split of one data set; :mod:`gramian.records` runs the cells in worker processes and stores
them in a file of JSON lines.

May import every package except ``cli``, ``experiments`` and ``demo``. ``tasks`` defines data sets and splits,
``methods`` (with ``peers``) the learners, ``scoring`` fits and scores one of them, ``cell`` connects it to the engine,
``uci_protocol`` is the tuning protocol of paper B, ``metrics`` are the comparisons of its appendix E, and ``summary``
makes tables of them.

>>> import numpy as np
>>> from gramian.bench.metrics import friedman_rank
>>> friedman_rank(np.array([[0.9, 0.8], [0.7, 0.7]])).tolist()
[1.25, 1.75]
"""
