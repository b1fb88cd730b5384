"""Pages about fitted models: one of them, or two compared.

``predictions`` has rows with known targets and the predictions for them, and ``measures`` their scores with intervals;
``scores``, ``learned``, ``rounds``, ``examples`` and ``provenance`` make sections; ``page`` and ``comparison`` assemble
them.
"""
