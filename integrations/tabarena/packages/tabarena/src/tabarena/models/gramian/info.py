from __future__ import annotations

from tabarena.models._method_metadata import MethodMetadata
from tabarena.models._model_info import ModelInfo
from tabarena.models.gramian.hpo import gen_gramian
from tabarena.models.gramian.model import GramianModel

# Not benchmarked yet: dates and suite are set with the first run, and cache_kwargs once its results are hosted.
gramian_method_metadata = MethodMetadata.config(
    method="Gramian",
    display_name="Gramian",
    compute="cpu",
    is_bag=True,
    can_hpo=True,
    ag_key="TA-GRAMIAN",
    model_key="GRAMIAN",
    config_default="TA-Gramian_c1_default_BAG_L1",
    verified=False,
    reference_url="https://doi.org/10.1126/science.adi5639",
)


gramian_info = ModelInfo(
    model_cls=GramianModel,
    search_space=gen_gramian,
    method_metadata=gramian_method_metadata,
    pip_extra=("gramian[autogluon]>=0.1.0",),
)
