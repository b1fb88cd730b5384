"""The reference and the diagram of packages, made from the code and from the import contracts."""

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
PACKAGES = (
    "gramian",
    "gramian.rfm",
    "gramian.kernels",
    "gramian.features",
    "gramian.solvers",
    "gramian.tables",
    "gramian.files",
    "gramian.nets",
    "gramian.concepts",
    "gramian.optim",
    "gramian.theory",
    "gramian.datasets",
    "gramian.report",
    "gramian.distributed",
    "gramian.integrations",
    "gramian.experiments",
    "gramian.bench",
    "gramian.display",
    "gramian.demo",
    "gramian.records",
    "gramian.core",
)
MODULES = {  # modules of a package whose names are imported by their own path
    "gramian": ("predictor",),
    "gramian.rfm": ("model", "options", "explain", "uncertainty.holdout", "compression", "export", "search"),
    "gramian.nets": ("alignment", "adapters", "trackers", "feature_matrix", "matrices"),
    "gramian.theory": ("printed",),
    "gramian.integrations": ("autogluon", "mlflow", "hub", "card"),
    "gramian.experiments": ("papers", "cell", "store", "verdict", "page"),
    "gramian.bench": ("tasks", "methods", "cell", "scoring", "metrics", "summary"),
    "gramian.demo": ("tasks", "comparison", "figures"),
}


def public(module: Any) -> list[str]:
    """Return the names a module offers: its ``__all__``, or what it defines without a leading underscore."""
    if hasattr(module, "__all__"):
        return [name for name in module.__all__ if not name.startswith("__")]
    return [
        name
        for name, value in vars(module).items()
        if not name.startswith("_") and callable(value) and getattr(value, "__module__", "") == module.__name__
    ]


def paths(package: str) -> tuple[str, ...]:
    """Return the import paths that a package's page documents: its own, and those of some of its modules."""
    return (package, *(f"{package}.{module}" for module in MODULES.get(package, ())))


def catalogue() -> dict[str, list[str]]:
    """Map every documented path to its public names; an object is listed once, under the first path that has it."""
    seen: dict[int, str] = {}
    listed: dict[str, list[str]] = {}
    for path in (path for package in PACKAGES for path in paths(package)):
        module = importlib.import_module(path)
        listed[path] = []
        for name in public(module):
            value = getattr(module, name)
            first = seen.setdefault(id(value), f"{path}.{name}") == f"{path}.{name}"
            if first and callable(value) and not isinstance(value, GenericAlias):
                listed[path].append(name)
    return listed


@functools.cache
def documented_paths() -> dict[int, str]:
    """Map the id of an object to the path it is documented under."""
    return {
        id(getattr(importlib.import_module(path), name)): f"{path}.{name}"
        for path, names in catalogue().items()
        for name in names
    }


def write_reference(app: Sphinx, config: Any) -> None:
    """Write one page per package, with a list from which autosummary makes a page per name."""
    folder = Path(app.srcdir) / "api"
    folder.mkdir(exist_ok=True)
    listed = catalogue()
    for package in PACKAGES:
        lines = []
        for path in paths(package):
            underline = "=" if path == package else "-"
            lines += [path, underline * len(path), "", f".. automodule:: {path}", "", *_names(path, listed[path])]
        _write(folder / f"{package}.rst", "\n".join(lines) + "\n")


def _names(path: str, names: list[str]) -> list[str]:
    if not names:
        return []
    head = [f".. currentmodule:: {path}", "", ".. autosummary::", "   :toctree: names", "   :nosignatures:", ""]
    return [*head, *(f"   {name}" for name in names), ""]


def _write(path: Path, text: str) -> None:
    if not path.exists() or path.read_text(encoding="utf-8") != text:  # Sphinx does not read an unchanged page again
        path.write_text(text, encoding="utf-8")


def summary(package: str) -> str:
    """Return the first paragraph of a package's docstring."""
    text = (inspect.getdoc(importlib.import_module(package)) or "").split("\n\n")[0]
    return re.sub(r":\w+:`~?([^`]+)`", r"\1", " ".join(text.split())).replace("``", "").replace("|", "\\|")


def contracts() -> list[dict[str, Any]]:
    """Return the import contracts as pyproject.toml states them."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]["contracts"]


def layers() -> list[list[str]]:
    """Return the packages of each layer, top layer first; packages of one layer do not import one another."""
    found = next(c for c in contracts() if c["type"] == "layers")["layers"]
    return [[package.strip() for package in layer.split("|")] for layer in found]


def allowed_imports(package: str) -> tuple[list[str], list[str]]:
    """Return the packages of lower layers that a package may import, and those that a contract forbids to it."""
    below: list[str] = []
    for layer in reversed(layers()):
        if package in layer:
            break
        below = layer + below
    forbidden = {
        name
        for contract in contracts()
        if contract["type"] == "forbidden" and package in contract["source_modules"]
        for name in contract["forbidden_modules"]
    }
    return [name for name in below if name not in forbidden], [name for name in below if name in forbidden]


def package_table() -> str:
    """Return the table of packages with their contents and allowed imports, top layer first."""
    lines = ["| package | contents | may import |", "|---|---|---|"]
    for layer in layers():
        for package in layer:
            allowed, forbidden = allowed_imports(package)
            imports = f"all lower layers except {_code(forbidden)}" if forbidden else "all lower layers"
            imports = imports if len(allowed) > 4 else _code(allowed) or "no other package"
            lines.append(f"| {_code([package])} | {summary(package)} | {imports} |")
    return "\n".join(lines)


class PackageLayers(SphinxDirective):
    """``{package-layers}``: the layers as rows of boxes, top layer first."""

    def run(self) -> list[nodes.Node]:
        diagram = nodes.container(classes=["package-layers"])
        for layer in layers():
            row = nodes.container(classes=["package-layer"])
            for package in layer:
                box = nodes.container(classes=["package"])
                box += nodes.paragraph("", "", self._link(package))
                row += box
            diagram += row
        return [diagram]

    def _link(self, package: str) -> nodes.Node:
        title = nodes.literal(text=package.removeprefix("gramian."))
        page = f"/api/{package}" if package in PACKAGES else f"/{package.rpartition('.')[2]}"
        target = {"refdoc": self.env.docname, "refdomain": "std", "reftype": "doc", "refexplicit": True}
        return addnodes.pending_xref("", title, reftarget=page, refwarn=True, **target)


class PackageTable(SphinxDirective):
    """``{package-table}``: the packages, their contents, and what each may import."""

    def run(self) -> list[nodes.Node]:
        return self.parse_text_to_nodes(package_table())


class ImportContracts(SphinxDirective):
    """``{import-contracts}``: the contracts beside the layers, in words."""

    def run(self) -> list[nodes.Node]:
        lines = []
        for contract in contracts():
            if contract["type"] == "forbidden":
                rule = f"{_code(contract['source_modules'])} never import {_code(contract['forbidden_modules'])}."
            elif contract["type"] == "independence":
                rule = f"{_code(contract['modules'])} never import one another."
            else:
                continue
            lines.append(f"- **{contract['name']}:** {rule}")
        return self.parse_text_to_nodes("\n".join(lines))


class ReferenceTable(SphinxDirective):
    """``{reference-table}``: the packages with their numbers of public names, and a hidden table of contents."""

    def run(self) -> list[nodes.Node]:
        listed = catalogue()
        lines = ["| package | contents | names |", "|---|---|---:|"]
        for package in PACKAGES:
            count = sum(len(listed[path]) for path in paths(package))
            lines.append(f"| [{package}](/api/{package}.rst) | {summary(package)} | {count} |")
        toctree = "\n".join(["", "```{toctree}", ":hidden:", "", *(f"/api/{package}" for package in PACKAGES), "```"])
        return self.parse_text_to_nodes("\n".join(lines) + "\n" + toctree)


def _code(modules: list[str]) -> str:
    return ", ".join(f"`{module}`" for module in modules)


def skip_inherited(app: Sphinx, what: str, name: str, value: Any, skip: bool, options: Any) -> bool | None:
    """Leave out what a class inherits from other packages: scikit-learn and torch document it themselves."""
    value = getattr(value, "fget", value)
    owner = getattr(value, "__objclass__", value)
    module = getattr(owner, "__module__", None) or "builtins"
    return True if callable(value) and not module.startswith("gramian") else None


def without_any(
    app: Sphinx, what: str, name: str, value: Any, options: Any, arguments: str | None, result: str | None
) -> tuple[str | None, str | None]:
    """Remove the annotation ``Any`` from a signature; the docstring describes such an argument."""
    return (arguments and re.sub(r": (~?typing\.)?Any(?= = |,|\))", "", arguments), result)


def resolve_missing(app: Sphinx, env: Any, node: Any, contnode: nodes.Node) -> nodes.Node | None:
    """Resolve a reference by another path than the documented one: import the object and find its documented path."""
    if node.get("refdomain") != "py":
        return None
    for prefix in (node.get("py:module"), None):
        found = _find(".".join(filter(None, (prefix, node["reftarget"]))))
        documented = documented_paths().get(id(found))
        if found is not None and documented and documented != node["reftarget"]:
            domain = env.get_domain("py")
            return domain.resolve_xref(env, node["refdoc"], app.builder, "obj", documented, node, contnode)
    return None


def link_names(app: Sphinx, doctree: nodes.document) -> None:
    """Link ``gramian.kernels.Laplace`` in code letters to its page, wherever it is written."""
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
    """Register the directives, and write the reference before any page is read."""
    app.add_directive("package-layers", PackageLayers)
    app.add_directive("package-table", PackageTable)
    app.add_directive("import-contracts", ImportContracts)
    app.add_directive("reference-table", ReferenceTable)
    app.connect("config-inited", write_reference)  # before Sphinx lists the pages
    app.connect("autodoc-skip-member", skip_inherited)
    app.connect("autodoc-process-signature", without_any)
    app.connect("doctree-read", link_names)
    app.connect("missing-reference", resolve_missing)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
