"""The runtime type checker of the test run: beartype, with jaxtyping's shapes and an int accepted for a float.

The import hook of jaxtyping decorates every function of the library with ``jaxtyped``, which binds the arguments of
each call and checks them twice, before the call and again beside the result; that took more time than the tests.
``checked`` takes its place and makes the same comparisons once: names of axes mean the same size in all arguments of a
call and in its result. The comparison of one tensor is jaxtyping's too, with a short way for what is mostly asked.
Within a test, the first hundred calls of a function are checked, and every tenth of those that follow.

The estimators are exempt. Their annotations tell an editor what may be passed; what is passed is checked in ``fit``,
with messages of our own, and tests pass wrong values to see them.
"""

import functools
import inspect
from collections.abc import Callable
from dataclasses import is_dataclass
from types import CodeType, FunctionType, SimpleNamespace
from typing import Any, get_args, get_type_hints

import jaxtyping
import torch
from beartype import BeartypeConf, beartype
from jaxtyping import Float, TypeCheckError, config, install_import_hook
from jaxtyping._storage import get_shape_memo
from torch import Tensor

ESTIMATORS = ("gramian.rfm.classifier", "gramian.rfm.estimator", "gramian.rfm.regressor", "gramian.rfm.search")
_beartyped = beartype(conf=BeartypeConf(is_pep484_tower=True, violation_type=TypeCheckError))
_by_jaxtyping = jaxtyping.jaxtyped
_SIZES = _by_jaxtyping("context")
"""Within it, the sizes of named axes are remembered; contexts nest, each with sizes of its own."""
_by_jaxtyping_compared = type(Float[Tensor, "n"]).__instancecheck__
MANY = 100
calls: dict[CodeType, int] = {}
"""The number of calls of each function since the beginning of the test; a function itself may hold tensors alive."""
_types: dict[tuple[str, str], object] = {}


def install() -> None:
    """Check every annotation in gramian from here on; modules that are imported already are not checked."""
    jaxtyping.jaxtyped = lambda typechecker: typechecker
    type(Float[Tensor, "n"]).__instancecheck__ = _matches
    install_import_hook("gramian", "shapes.checked")


def checked(thing: Callable[..., Any]) -> Callable[..., Any]:
    """Check the types and shapes of a function, or of the fields of a dataclass, unless it belongs to an estimator."""
    if inspect.isclass(thing):
        if is_dataclass(thing) and not hasattr(thing.__init__, "__wrapped__"):
            thing.__init__ = checked(thing.__init__)
        return thing
    if thing.__module__.startswith(ESTIMATORS):
        return thing
    if inspect.isgeneratorfunction(thing):  # its arguments are to be checked by the call, not by the first item
        typed, shaped = _by_jaxtyping(thing, typechecker=_beartyped), False
    else:
        copy = _with_types(thing)
        typed, shaped = _beartyped(copy), any(_has_shapes(hint) for hint in copy.__annotations__.values())

    code = inspect.unwrap(thing).__code__

    @functools.wraps(thing)
    def call(*args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True
        calls[code] = number = calls.get(code, 0) + 1
        if config.jaxtyping_disable or (number > MANY and number % 10):
            return thing(*args, **kwargs)
        if not shaped:
            return typed(*args, **kwargs)
        with _SIZES:
            return typed(*args, **kwargs)

    return call


def _matches(hint: Any, thing: object) -> bool:
    """Compare a tensor with named axes or fixed sizes, and leave the rest, and every refusal, to jaxtyping."""
    axes = _axes(hint, thing.dtype) if type(thing) is Tensor else None
    if axes is None or len(axes) != thing.ndim:
        return _by_jaxtyping_compared(hint, thing)
    sizes = get_shape_memo()[0]
    found = {}
    for axis, size in zip(axes, thing.shape, strict=True):
        if found.setdefault(axis, size) != size or sizes.get(axis, size) != size:
            return _by_jaxtyping_compared(hint, thing)
    sizes.update(found)
    return True


@functools.cache
def _axes(hint: Any, dtype: torch.dtype) -> list[str] | None:
    """Return the names of the axes; None if there are others than names, or if the number format is refused."""
    axes = hint.dim_str.split()
    plain = hint.array_type is Tensor and all(axis.isidentifier() and axis[0] != "_" for axis in axes)
    with _SIZES:
        return axes if plain and _by_jaxtyping_compared(hint, torch.empty([0] * len(axes), dtype=dtype)) else None


def _has_shapes(hint: object) -> bool:
    """Return True if an annotation names axes, whose sizes must agree within a call."""
    return isinstance(hint, type(Float[Tensor, "n"])) or any(_has_shapes(part) for part in get_args(hint))


def _with_types(function: Callable[..., Any]) -> Callable[..., Any]:
    """A copy of the function whose annotations are types; a name that only an editor can look up becomes ``Any``."""
    copy = FunctionType(
        function.__code__, function.__globals__, function.__name__, function.__defaults__, function.__closure__
    )
    copy.__kwdefaults__ = function.__kwdefaults__
    copy.__qualname__, copy.__module__ = function.__qualname__, function.__module__
    copy.__annotations__ = {name: _type(hint, function) for name, hint in function.__annotations__.items()}
    return copy


def _type(hint: object, function: Callable[..., Any]) -> object:
    known = (function.__module__, hint) if isinstance(hint, str) else None
    if known not in _types or known is None:
        try:
            found = get_type_hints(SimpleNamespace(__annotations__={"hint": hint}), function.__globals__, None, True)
        except Exception:  # the name may be defined further down, and is looked up again for the next function
            return Any
        if known is None:
            return found["hint"]
        _types[known] = found["hint"]
    return _types[known]
