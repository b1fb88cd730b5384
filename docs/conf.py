"""Sphinx settings. `make docs` builds the site; pages are Markdown, and the reference is made from docstrings."""

import os
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))
sys.path.insert(0, str(HERE.parent / "src"))  # document this source tree, wherever gramian is installed
os.environ.setdefault("OMP_NUM_THREADS", "1")

import recorded  # noqa: E402
from docutils import nodes  # noqa: E402

from gramian import __version__ as release  # noqa: E402

project = "gramian"
author = "The gramian developers"
copyright = author
version = release

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.viewcode",
    "numpydoc",
    "sphinx_design",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
    "packages",
    "plans",
    "recorded",
]
exclude_patterns = ["_build", "auto_examples/*.ipynb", "**/sg_execution_times.rst", "sg_execution_times.rst"]
smartquotes = False  # otherwise the two dashes of an option become one long dash
templates_path = ["_templates"]
suppress_warnings = ["config.cache"]  # the gallery's settings contain functions

myst_enable_extensions = ["colon_fence", "deflist", "substitution", "attrs_inline", "dollarmath"]
myst_dmath_allow_space = False  # "$20 and $30" are prices
myst_dmath_allow_digits = False
myst_heading_anchors = 3
myst_substitutions = recorded.facts()

# Formulas are drawn by a copy of MathJax 3.2.2 (Apache License 2.0, beside it), so that the site reads offline.
mathjax_path = "mathjax/tex-svg.js"
mathjax3_config = {"options": {"enableMenu": False}}  # the menu would load parts that are not in the copy

autosummary_ignore_module_all = False
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
python_maximum_signature_line_length = 90
toc_object_entries_show_parents = "hide"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "auto_examples",
    "filename_pattern": "/plot_",
    "within_subsection_order": "FileNameSortKey",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "thumbnail_size": (640, 448),
    "show_memory": False,
    "show_signature": False,
    "remove_config_comments": True,
    "min_reported_time": 1e9,
    "reset_modules": (),
}

html_theme = "pydata_sphinx_theme"
html_title = "gramian"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_context = {"default_mode": "auto"}
html_show_sourcelink = False
html_copy_source = False
html_show_search_summary = False  # a browser does not let a site on disk fetch its own pages
html_theme_options = {
    "show_prev_next": False,
    "navbar_align": "left",
    "navbar_end": ["theme-switcher"],
    "header_links_before_dropdown": 7,
    "navigation_with_keys": False,
    "show_toc_level": 2,
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
    "secondary_sidebar_items": ["page-toc"],
}
html_sidebars = {"index": [], "start": [], "auto_examples/**": ["sidebar-nav-bs"]}


def setup(app):
    """Remove the empty line at the end of doctests, which only the source needs."""

    def trim(app, doctree):
        for block in doctree.findall(nodes.literal_block):
            if block.rawsource == block.astext():  # blocks that are highlighted by hand differ
                block.rawsource = block.rawsource.rstrip()
                block[:] = [nodes.Text(block.rawsource)]

    app.connect("doctree-read", trim)
