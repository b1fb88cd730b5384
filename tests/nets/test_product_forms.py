"""Products by any torch function have the rows whose outer products are the gradient of the parameter."""

import pytest
import torch
import torch.nn.functional as F

from gramian.nets.product_forms import find_product


def draw(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


# function, arguments of (x, view of p), shape of x, shape of p, view of p
CASES = {
    "linear": (F.linear, lambda x, v: (x, v), (5, 2, 3), (4, 3), lambda p: p),
    "linear, one of a stack": (F.linear, lambda x, v: (x, v), (5, 3), (2, 4, 3), lambda p: p[1]),
    "matmul": (torch.matmul, lambda x, v: (x, v), (5, 2, 3), (3, 4), lambda p: p),
    "matmul, transposed": (torch.matmul, lambda x, v: (x, v), (5, 3), (4, 3), lambda p: p.mT),
    "matmul, square": (torch.matmul, lambda x, v: (x, v), (5, 3), (3, 3), lambda p: p.mT),
    "matmul, vector": (torch.matmul, lambda x, v: (x, v), (3,), (3, 4), lambda p: p),
    "from the left": (torch.matmul, lambda x, v: (v, x), (5, 3, 2), (4, 3), lambda p: p),
    "from the left, vector": (torch.matmul, lambda x, v: (v, x), (3,), (4, 3), lambda p: p),
    "stack": (torch.matmul, lambda x, v: (x, v), (2, 5, 3), (2, 3, 4), lambda p: p),
    "stack, same rows": (torch.matmul, lambda x, v: (x, v), (5, 3), (2, 3, 4), lambda p: p),
    "stack, batch": (torch.matmul, lambda x, v: (x, v), (6, 2, 5, 3), (2, 4, 3), lambda p: p.mT),
    "stack from the left": (torch.bmm, lambda x, v: (v, x), (2, 3, 5), (2, 4, 3), lambda p: p),
    "stack of one": (torch.matmul, lambda x, v: (x, v), (6, 5, 3), (1, 3, 4), lambda p: p),
    "one of a stack, transposed": (torch.mm, lambda x, v: (x, v), (5, 3), (3, 4, 3), lambda p: p[2].T),
    "added": (torch.addmm, lambda x, v: (torch.zeros(4).double(), x, v), (5, 3), (3, 4), lambda p: p),
    "reversed": (torch.Tensor.__rmatmul__, lambda x, v: (v, x), (5, 3), (3, 4), lambda p: p),
    "einsum": (torch.einsum, lambda x, v: ("btd,dk->btk", x, v), (5, 2, 3), (3, 4), lambda p: p),
    "einsum, stack": (torch.einsum, lambda x, v: ("end,ekd->nek", x, v), (2, 5, 3), (2, 4, 3), lambda p: p),
    "einsum, same rows": (torch.einsum, lambda x, v: ("edk,nd->enk", v, x), (5, 3), (2, 3, 4), lambda p: p),
    "einsum, list": (torch.einsum, lambda x, v: ("nd,kd->kn", [x, v]), (5, 3), (4, 3), lambda p: p),
    "not contiguous": (torch.matmul, lambda x, v: (x, v), (5, 3), None, lambda p: p),
}


@pytest.mark.parametrize("name", CASES)
def test_outer_products_of_rows_are_the_gradient(name):
    func, arguments, x_shape, p_shape, view = CASES[name]
    p = (draw(4, 3).mT if p_shape is None else draw(*p_shape)).requires_grad_()
    x = draw(*x_shape, seed=1)
    v = view(p)
    args = arguments(x, v)
    result = func(*args)
    D = draw(*result.shape, seed=2)
    product = find_product(func, args, {}, v, p, result)
    G = torch.autograd.grad((result * D).sum(), p)[0]
    stack = G if G.ndim == 3 else G[None]
    ((group, part),) = product.parts
    rows = torch.einsum("ngm,ngk->gmk", product.rows_out(D)[part], product.rows_in(x)[part])
    rows = rows.mT if product.transposed else rows
    expected = stack if group is None else stack[group : group + 1]
    torch.testing.assert_close(rows, expected)
    if group is not None:
        assert not torch.cat([stack[:group], stack[group + 1 :]]).any()


def test_sorted_rows_of_groups_are_parts():
    x, p, offs = draw(6, 3), draw(4, 3, 2).requires_grad_(), torch.tensor([2, 2, 5, 6], dtype=torch.int32)
    result = torch.cat([x[a:b] @ p[e] for e, (a, b) in enumerate([(0, 2), (2, 2), (2, 5), (5, 6)])])
    product = find_product(F.grouped_mm, (x, p), {"offs": offs}, p, p, result)
    G = torch.autograd.grad(result.sin().sum(), p)[0]
    D = result.detach().cos()
    assert [group for group, _ in product.parts] == [0, 2, 3]
    for group, part in product.parts:
        rows = torch.einsum("ngm,ngk->gmk", product.rows_out(D)[part], product.rows_in(x)[part])[0]
        torch.testing.assert_close(rows.mT if product.transposed else rows, G[group])


NOT = {
    "summed rows": ("nd,dk->k", (5, 3), (3, 4)),
    "diagonal": ("nd,dd->nd", (5, 3), (3, 3)),
    "entries": ("nd,nd->nd", (5, 3), (5, 3)),
    "ellipsis": ("...d,dk->...k", (5, 3), (3, 4)),
    "two contracted": ("ntd,tdk->nk", (5, 2, 3), (2, 3, 4)),
}


@pytest.mark.parametrize("name", NOT)
def test_other_sums_are_no_products(name):
    equation, x_shape, p_shape = NOT[name]
    x, p = draw(*x_shape), draw(*p_shape)
    assert find_product(torch.einsum, (equation, x, p), {}, p, p, torch.einsum(equation, x, p)) is None


def test_parts_and_other_functions_are_no_products():
    x, p = draw(5, 3), draw(3, 4)
    for func, args, v in (
        (torch.matmul, (x, p[:, :2]), p[:, :2]),
        (torch.matmul, (x, p[:, 1:]), p[:, 1:]),
        (torch.mul, (p, p), p),
        (F.linear, (p.mT, x), p.mT),
        (torch.matmul, (p.mT, p), p),
    ):
        v = next(arg for arg in args if arg.shape == v.shape)
        found = find_product(func, args, {}, v, p, func(*args))
        assert found is None or (func is torch.matmul and args[0]._base is p)
