"""The best answer for each measure, from probabilities.

| measure | best answer |
|---|---|
| `hamming` | `round_marginals(marginals(joint))` |
| `subset_accuracy` | `mode(joint)` |
| `example_f1` | `example_f1(joint)` |
| `jaccard` | `jaccard(joint)` |
| `micro_f1` | labels with p above `micro_f1_threshold(p)` |
| `macro_f1` | labels with p above `macro_f1_thresholds(p)` |

`best(measure, joint)` calls the right one.
"""

from crbm.decisions.choice import MEASURES, best
from crbm.decisions.f_measure import example_f1
from crbm.decisions.joint import Joint, marginals, mode, reweight, round_marginals
from crbm.decisions.overlap import jaccard
from crbm.decisions.thresholds import (
    macro_f1_thresholds,
    micro_f1_threshold,
    tuned_thresholds,
)

__all__ = [
    "MEASURES",
    "Joint",
    "best",
    "example_f1",
    "jaccard",
    "macro_f1_thresholds",
    "marginals",
    "micro_f1_threshold",
    "mode",
    "reweight",
    "round_marginals",
    "tuned_thresholds",
]
