"""Small frozen objects that carry options: kernels, updates, solvers.

They have ``get_params`` and support scikit-learn's ``clone``, so that ``set_params(kernel__bandwidth=3.0)`` and grid
searches reach their fields.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, TypeVar

T = TypeVar("T", bound="Options")


@dataclass(frozen=True)
class Options:
    """A frozen dataclass whose fields are its options."""

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the options by name."""
        return {f.name: getattr(self, f.name) for f in fields(self)}

    def with_params(self: T, **params: Any) -> T:
        """Return a copy with some options replaced; an unknown option raises an error that lists the known ones.

        >>> from gramian.kernels import Laplace
        >>> Laplace().with_params(bandwidth=3.0)
        Laplace(bandwidth=3.0, bandwidth_scale=1.0)
        """
        known = self.get_params()
        for name in params:
            if name not in known:
                raise ValueError(f"{type(self).__name__} has no option {name!r}; it has {', '.join(known) or 'none'}")
        return replace(self, **params)

    def __sklearn_clone__(self: T) -> T:
        return self  # frozen: a copy could never differ


def named(value: object, registry: Mapping[str, T], what: str, kind: type[T]) -> T:
    """Return the object registered under a name, or an object as it is; anything else raises an error with the names.

    >>> from gramian.kernels import BY_NAME, Kernel
    >>> named("gaussian", BY_NAME, "kernel", Kernel)
    Gaussian(bandwidth='auto', bandwidth_scale=1.0)
    """
    if isinstance(value, kind):
        return value
    if isinstance(value, str) and value in registry:
        return registry[value]
    names = ", ".join(f'"{name}"' for name in registry)
    article = "an" if kind.__name__[0] in "AEIOU" else "a"
    raise ValueError(f"{what} must be one of {names}, or {article} {kind.__name__} object; got {value!r}")
