"""Look at many runs together: trends of metrics by machine class, and the runs at which their level changed."""

from runners.design.experiment import Experiment, Parameter
from runners.results.answer import Asked, Question

METRICS = ("p50", "p75", "p90", "p99", "p99.9", "p99.99", "achieved")
EXPERIMENT = Experiment(
    "08", "08_history.ipynb", "What many runs say together", "",
    (
        Parameter("roots", "", "folders of runs, apart by commas; empty: this project's runs and references"),
        Parameter("experiments", "", "experiments to look at, e.g. 01,04; empty: all"),
        Parameter("metrics", "p50,p99,p99.9,achieved", "figures", choices=METRICS, several=True),
    ),
)  # fmt: skip


def questions() -> tuple[Asked, ...]:
    from runners.results.trends import trends_change

    return (
        Asked(Question("servers", "Did a server's figure change its level?"), trends_change(sentinel=False)),
        Asked(Question("machine", "Did the machine change while the runs were made?"), trends_change(sentinel=True)),
    )
