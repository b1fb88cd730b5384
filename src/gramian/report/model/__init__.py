"""Pages about fitted models: one of them, or two compared.

``evidence`` finds rows and what was predicted for them, ``measures`` makes scores and their intervals of it;
``scores``, ``learned``, ``examples`` and ``about`` make sections; ``page`` and ``comparison`` put them together.
"""
