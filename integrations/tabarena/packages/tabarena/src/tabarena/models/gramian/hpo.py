"""Search space of gramian: the space in which xRFM was tuned, with bandwidths as multiples of the median distance.

The default configuration ``{}`` lets eight pairs of kernel and update compete; a random configuration is one kernel
with one update, bandwidth and ridge. The number of rounds is not searched: the validation rows select the round.
"""

from __future__ import annotations

import numpy as np

from tabarena.models.gramian.model import GramianModel
from tabarena.models.utils import convert_numpy_dtypes
from tabarena.utils.config_utils import CustomAGConfigGenerator


def generate_single_config_gramian(rng: np.random.Generator) -> dict:
    exponent = rng.uniform(0.7, 1.4)
    params = {
        "kernel__bandwidth": "median",
        "kernel__exponent": exponent,
        "kernel__bandwidth_scale": np.exp(rng.uniform(np.log(1 / 16), np.log(16))),
        "ridge": np.exp(rng.uniform(np.log(1e-6), np.log(10))),
        "update": "agop",
        "update__power": rng.choice([1.0, 0.5]),
    }
    if rng.uniform() < 0.5:
        # exp(-(||x - z||_p / L)^q); below p = 1 the slope is infinite where two rows share a value
        least = max(exponent, 1.0)
        params |= {"kernel": "lp", "kernel__p": rng.uniform(least, 2), "update__diagonal": True}
    else:
        params |= {"kernel": "exponential", "update__diagonal": rng.choice([False, True])}
    return convert_numpy_dtypes(params)


def generate_configs_gramian(num_random_configs=200, seed=1234) -> list[dict]:
    rng = np.random.default_rng(seed)
    return [generate_single_config_gramian(rng) for _ in range(num_random_configs)]


gen_gramian = CustomAGConfigGenerator(
    model_cls=GramianModel,
    search_space_func=generate_configs_gramian,
    manual_configs=[{}],
)


if __name__ == "__main__":
    from tabarena.benchmark.experiment import YamlExperimentSerializer

    print(
        YamlExperimentSerializer.to_yaml_str(
            experiments=gen_gramian.generate_all_bag_experiments(num_random_configs=0),
        ),
    )
