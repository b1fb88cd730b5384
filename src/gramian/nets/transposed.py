"""Rows of transposed convolutions: every input position is a row, whose products are added into the output."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn


def scattered_rows(module: nn.Module, gradient: Tensor, input_shape: tuple[int, ...] | None) -> Tensor:
    """Gradients with respect to the products of every input position, from those with respect to the output.

    A transposed convolution multiplies the channels at every input position by its weights, which gives a patch of
    (outputs / groups) · kernel values, and adds the patches up at ``position · stride + offset · dilation − padding``.
    The gradient at a patch is therefore that of the output in its place, and 0 where padding cuts it off. The result
    is (positions, groups, outputs / groups · kernel).

    >>> module = nn.ConvTranspose1d(2, 3, 2, stride=2)
    >>> scattered_rows(module, torch.ones(1, 3, 8), (1, 2, 4)).shape
    torch.Size([4, 1, 6])
    """
    assert isinstance(module, nn.ConvTranspose1d | nn.ConvTranspose2d | nn.ConvTranspose3d)
    assert input_shape is not None
    dims = len(module.kernel_size)
    space = input_shape[-dims:]
    D = gradient.reshape(-1, *gradient.shape[-1 - dims :])
    for j in range(dims):
        kernel, stride, dilation, padding = (
            int(option[j]) for option in (module.kernel_size, module.stride, module.dilation, module.padding)
        )
        needed = (space[j] - 1) * stride + (kernel - 1) * dilation + 1
        axis = 2 + 2 * j  # the dimensions before it are already (positions, offsets)
        D = D.movedim(axis, -1)
        D = F.pad(D, (padding, needed - padding - D.shape[-1]))  # a negative right side crops what no patch reaches
        places = torch.arange(space[j], device=D.device)[:, None] * stride
        places = places + torch.arange(kernel, device=D.device) * dilation
        D = D[..., places].movedim((-2, -1), (axis, axis + 1))
    groups = module.groups
    D = D.unflatten(1, (groups, -1))  # (n, groups, outputs, positions, offsets, positions, offsets, …)
    positions, offsets = range(3, 3 + 2 * dims, 2), range(4, 4 + 2 * dims, 2)
    D = D.permute(0, *positions, 1, 2, *offsets)
    return D.flatten(0, dims).flatten(2)
