"""The initial weights of a model, from a state dict, the untrained model or a checkpoint."""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn.utils import parametrize

from gramian.nets.checkpoints.opening import CheckpointLike
from gramian.nets.checkpoints.pretrained import state_of
from gramian.nets.checkpoints.torch_files import renamed
from gramian.nets.layers import unwrap


def initial_tensors(model: nn.Module, initial: CheckpointLike) -> dict[str, Tensor]:
    """The initial state under the names of the model's own state dict, in its precision.

    Prefixes of DataParallel, ``torch.compile`` and Lightning are left out of the names.

    >>> model = nn.Linear(2, 1).double()
    >>> start = initial_tensors(model, {f"module.{key}": value.float() for key, value in model.state_dict().items()})
    >>> list(start), start["weight"].dtype
    (['weight', 'bias'], torch.float64)
    """
    reason = reason_against_initial(model)
    if reason is not None:
        raise ValueError(f"initial: {reason}; remove it (torch.nn.utils.parametrize) or leave initial out")
    # Extra state of a module may be anything, and has no part in the weights.
    now = {key: value for key, value in model.state_dict().items() if isinstance(value, Tensor)}
    state, _ = renamed(state_of(unwrap(initial) if isinstance(initial, nn.Module) else initial), list(now))
    missing = [key for key in now if key not in state]
    if missing:
        raise ValueError(f"initial has no entry for {missing[:3]}: pass the state_dict of this very model")
    wrong = [key for key in now if state[key].shape != now[key].shape]
    if wrong:
        raise ValueError(f"initial has another shape than the model for {wrong[:3]}")
    return {
        key: state[key].detach().to(value.dtype) if value.is_floating_point() else state[key].detach()
        for key, value in now.items()
    }


def reason_against_initial(model: nn.Module) -> str | None:
    """The reason why a model cannot be run with initial weights; None where it can.

    >>> print(reason_against_initial(nn.Linear(2, 1)))
    None
    >>> reason_against_initial(nn.Sequential(nn.utils.parametrizations.weight_norm(nn.Linear(2, 1))))[:52]
    "the weights of ['0'] come from a parametrisation, so"
    """
    computed = [name for name, module in model.named_modules() if parametrize.is_parametrized(module)]
    if not computed:
        return None
    return (
        f"the weights of {computed[:3]} come from a parametrisation, so the initial network cannot be rebuilt from "
        "its state"
    )
