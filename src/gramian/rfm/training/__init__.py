"""Training: the plan of a fit, the rounds, tuning, validation, and the pipeline that joins them.

Read in this order: ``fit`` (prepared rows → fitted value), ``plan`` and ``solver_choice`` (what happens at n rows),
``train`` (screen → compare → select → refit → package), ``rounds`` (the algorithm, as a generator), ``tuning`` (ridge
and bandwidth), ``validation`` (folds and selection), ``context`` (time limit, progress, callbacks, checkpoint, pool).
``refit``, ``parts`` and ``grow_tree`` are for more than 4,000 rows.

>>> from gramian.rfm.training.plan import Plan
>>> Plan.for_size(1000, 10, 1, budget=10**9).validation
'splits'
"""
