from __future__ import annotations

from tabarena.models.gramian.hpo import gen_gramian
from tabarena.models.gramian.info import gramian_info, gramian_method_metadata

__all__ = ["gen_gramian", "gramian_info", "gramian_method_metadata"]
