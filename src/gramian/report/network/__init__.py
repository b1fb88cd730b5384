"""Pages about inspected networks: one of them, or two compared.

``sentences`` puts the numbers of a report into words; ``layers`` and ``training`` make sections; ``page`` and
``comparison`` assemble them.
"""
