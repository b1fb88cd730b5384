"""The reference and the map of the house, made from the code: public names by room, floors from the contracts."""

from __future__ import annotations

import functools
import importlib
import inspect
import pkgutil
import re
import tomllib
from pathlib import Path
from types import GenericAlias
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

ROOT = Path(__file__).parents[2]
ROOMS = (
    "gramian",
    "gramian.rfm",
    "gramian.kernels",
    "gramian.features",
    "gramian.solvers",
    "gramian.tables",
    "gramian.files",
    "gramian.nets",
    "gramian.optim",
    "gramian.theory",
    "gramian.datasets",
    "gramian.report",
    "gramian.distributed",
    "gramian.experiments",
    "gramian.bench",
    "gramian.display",
    "gramian.demo",
    "gramian.records",
    "gramian.core",
)
PARTS = {  # modules of a room whose names one calls by their own path
    "gramian.rfm": ("search", "presets", "explain", "directions", "importance", "compression"),
    "gramian.nets": ("alignment", "adapters"),
    "gramian.theory": ("printed",),
    "gramian.experiments": ("papers", "cell", "store", "verdict", "page"),
    "gramian.bench": ("tasks", "methods", "cell", "scoring", "metrics", "summary"),
    "gramian.demo": ("tasks", "comparison", "figures"),
}


def public(module: Any) -> list[str]:
    """Names a module offers: its ``__all__``, or what it defines without a leading underscore."""
    if hasattr(module, "__all__"):
        return [name for name in module.__all__ if not name.startswith("__")]
    return [
        name
        for name, value in vars(module).items()
        if not name.startswith("_") and callable(value) and getattr(value, "__module__", "") == module.__name__
    ]


def catalogue() -> dict[str, list[str]]:
    """Room or part → its public names, each object once: under the shortest path by which one imports it."""
    seen: dict[int, str] = {}
    listed: dict[str, list[str]] = {}
    for room in ROOMS:
        for path in (room, *(f"{room}.{part}" for part in PARTS.get(room, ()))):
            module = importlib.import_module(path)
            listed[path] = []
            for name in public(module):
                value = getattr(module, name)
                first = seen.setdefault(id(value), f"{path}.{name}") == f"{path}.{name}"
                if first and callable(value) and not isinstance(value, GenericAlias):
                    listed[path].append(name)
    return listed


@functools.cache
def homes() -> dict[int, str]:
    """Object → the path it is documented under."""
    return {
        id(getattr(importlib.import_module(path), name)): f"{path}.{name}"
        for path, names in catalogue().items()
        for name in names
    }


def write_reference(app: Sphinx, config: Any) -> None:
    """One page per room, with a list from which autosummary makes a page per name."""
    folder = Path(app.srcdir) / "api"
    folder.mkdir(exist_ok=True)
    listed = catalogue()
    for room in ROOMS:
        lines = [room, "=" * len(room), "", f".. automodule:: {room}", ""]
        lines += _names(room, listed[room])
        for part in PARTS.get(room, ()):
            path = f"{room}.{part}"
            lines += [path, "-" * len(path), "", f".. automodule:: {path}", ""]
            lines += _names(path, listed[path])
        _write(folder / f"{room}.rst", "\n".join(lines) + "\n")


def _names(path: str, names: list[str]) -> list[str]:
    if not names:
        return []
    head = [f".. currentmodule:: {path}", "", ".. autosummary::", "   :toctree: names", "   :nosignatures:", ""]
    return [*head, *(f"   {name}" for name in names), ""]


def _write(path: Path, text: str) -> None:
    if not path.exists() or path.read_text(encoding="utf-8") != text:  # an untouched page is not read again
        path.write_text(text, encoding="utf-8")


def door_sign(room: str) -> str:
    """The first sentence of a room's docstring."""
    text = (inspect.getdoc(importlib.import_module(room)) or "").split("\n\n")[0]
    return " ".join(text.split()).replace("``", "")


def contracts() -> list[dict[str, Any]]:
    """The import contracts as pyproject.toml states them."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]["contracts"]


def floors() -> list[list[str]]:
    """Rooms from the roof to the ground; those on one floor do not know each other."""
    layers = next(c for c in contracts() if c["type"] == "layers")["layers"]
    return [[room.strip() for room in layer.split("|")] for layer in layers]


class House(SphinxDirective):
    """``{house}``: the floors as boxes, the roof first."""

    def run(self) -> list[nodes.Node]:
        house = nodes.container(classes=["house"])
        for floor in floors():
            row = nodes.container(classes=["floor"])
            for room in floor:
                box = nodes.container(classes=["room"])
                box += nodes.paragraph("", "", self._link(room))
                box += nodes.paragraph(text=door_sign(room))
                row += box
            house += row
        return [house]

    def _link(self, room: str) -> nodes.Node:
        title = nodes.literal(text=room)
        page = f"/api/{room}" if room in ROOMS else f"/{room.rpartition('.')[2]}"
        target = {"refdoc": self.env.docname, "refdomain": "std", "reftype": "doc", "refexplicit": True}
        return addnodes.pending_xref("", title, reftarget=page, refwarn=True, **target)


class Contracts(SphinxDirective):
    """``{contracts}``: the other rules on imports, in words."""

    def run(self) -> list[nodes.Node]:
        lines = []
        for contract in contracts():
            if contract["type"] == "forbidden":
                says = f"{_code(contract['source_modules'])} never import {_code(contract['forbidden_modules'])}."
            elif contract["type"] == "independence":
                says = f"{_code(contract['modules'])} never import one another."
            else:
                continue
            lines.append(f"- **{contract['name']}:** {says}")
        return self.parse_text_to_nodes("\n".join(lines))


class Rooms(SphinxDirective):
    """``{rooms}``: a table of the reference, room by room, and its hidden table of contents."""

    def run(self) -> list[nodes.Node]:
        listed = catalogue()
        lines = ["| room | what lives there | names |", "|---|---|---:|"]
        for room in ROOMS:
            count = sum(len(names) for path, names in listed.items() if path == room or _part_of(path, room))
            lines.append(f"| [{room}](/api/{room}.rst) | {door_sign(room)} | {count} |")
        toctree = "\n".join(["", "```{toctree}", ":hidden:", "", *(f"/api/{room}" for room in ROOMS), "```"])
        return self.parse_text_to_nodes("\n".join(lines) + "\n" + toctree)


def _part_of(path: str, room: str) -> bool:
    return path.rpartition(".")[0] == room and path not in ROOMS


def _code(modules: list[str]) -> str:
    return ", ".join(f"`{module}`" for module in modules)


def foreign(app: Sphinx, what: str, name: str, value: Any, skip: bool, options: Any) -> bool | None:
    """Leave out what a class inherits from other packages: scikit-learn and torch document it themselves."""
    value = getattr(value, "fget", value)
    owner = getattr(value, "__objclass__", value)
    module = getattr(owner, "__module__", None) or "builtins"
    return True if callable(value) and not module.startswith("gramian") else None


def plain(app: Sphinx, what: str, name: str, value: Any, options: Any, says: str | None, gives: str | None) -> Any:
    """An argument that takes anything need not say so: the docstring tells what it takes."""
    return (says and re.sub(r": (~?typing\.)?Any(?= = |,|\))", "", says), gives)


def missing(app: Sphinx, env: Any, node: Any, contnode: nodes.Node) -> nodes.Node | None:
    """A reference by another path than the documented one: import it and look where it is documented."""
    if node.get("refdomain") != "py":
        return None
    for prefix in (node.get("py:module"), None):
        found = _find(".".join(filter(None, (prefix, node["reftarget"]))))
        documented = homes().get(id(found))
        if found is not None and documented and documented != node["reftarget"]:
            domain = env.get_domain("py")
            return domain.resolve_xref(env, node["refdoc"], app.builder, "obj", documented, node, contnode)
    return None


def link_names(app: Sphinx, doctree: nodes.document) -> None:
    """``gramian.kernels.Laplace`` in code letters leads to its page, wherever it is written."""
    for literal in list(doctree.findall(nodes.literal)):
        name = literal.astext().removesuffix("()")
        inside = isinstance(literal.parent, nodes.reference | addnodes.pending_xref)
        if re.fullmatch(r"gramian(\.\w+)+", name) and not inside:
            target = {"refdomain": "py", "reftype": "obj", "reftarget": name, "refdoc": app.env.docname}
            literal.replace_self(addnodes.pending_xref("", literal.deepcopy(), refwarn=False, **target))


def _find(path: str) -> Any:
    try:
        return pkgutil.resolve_name(path)
    except (ImportError, AttributeError, ValueError):
        return None


def setup(app: Sphinx) -> dict[str, Any]:
    """Enter the directives, and write the reference before anything is read."""
    app.add_directive("house", House)
    app.add_directive("contracts", Contracts)
    app.add_directive("rooms", Rooms)
    app.connect("config-inited", write_reference)  # before Sphinx looks which pages there are
    app.connect("autodoc-skip-member", foreign)
    app.connect("autodoc-process-signature", plain)
    app.connect("doctree-read", link_names)
    app.connect("missing-reference", missing)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
