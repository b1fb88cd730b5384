"""The demonstration of ``gramian demo``: four tasks on which feature learning is compared with kernel ridge regression.

May import every package except ``cli``, ``experiments`` and ``bench``. ``comparison`` fits and scores both models on
the same splits, ``tasks`` defines the tasks and their results, ``figures`` draws a result, ``picture`` draws the figure
of the README. All data comes with scikit-learn or from a formula; nothing is downloaded.

>>> from gramian.demo import ScoreEstimate
>>> ScoreEstimate.of([0.8, 0.9]).mean
0.85
"""

from gramian.demo.comparison import PairedComparison, ScoreEstimate, compare
from gramian.demo.tasks import TASKS, DemoResult, DemoTask

__all__ = ["TASKS", "DemoResult", "DemoTask", "PairedComparison", "ScoreEstimate", "compare"]
