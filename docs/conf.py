"""Sphinx's settings; ``make docs`` builds the site into build/docs.

The sources are the pages and notebooks where they lie, with the links that work in the repository too. Sphinx with
MyST-NB and the book theme is what JAX, Flax and Optax use, so readers find search, signatures and notebooks where they
know them. Notebooks are shown with the outputs that they are committed with.
"""

import inspect
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import gluonx  # noqa: E402 - found through the line above
from tools import api_pages  # noqa: E402

project = "gluonx"
author = "The gluonx developers"
copyright = "the gluonx developers, Apache License 2.0"
version = release = gluonx.__version__

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
]
root_doc = "docs/index"
include_patterns = ["docs/**", "notebooks/**"]
exclude_patterns = [".*", "[!dn]*", "**/.ipynb_checkpoints"]

nb_execution_mode = "off"
nb_merge_streams = True
myst_heading_anchors = 4
myst_enable_extensions = ["dollarmath", "colon_fence"]

autodoc_typehints = "none"  # they stand in the text; the signatures stay readable
autodoc_member_order = "bysource"
autodoc_class_signature = "mixed"
autosummary_generate = False  # the tables only; tools.api_pages writes the pages
napoleon_google_docstring = False
napoleon_use_param = False  # types are text: "array of shape (n, 2)" is no name of a class
napoleon_use_ivar = True  # an attribute that is a property is told of twice otherwise
napoleon_use_rtype = False
napoleon_preprocess_types = False

html_theme = "sphinx_book_theme"
html_title = "gluonx"
html_static_path = ["static"]
html_css_files = ["gluonx.css"]
html_js_files = [("gluonx.js", {"defer": "defer"})]
html_extra_path = ["extra"]
html_show_sourcelink = False
html_theme_options = {
    "home_page_in_toc": False,
    "show_navbar_depth": 1,
    "show_toc_level": 2,
    "navbar_persistent": [],  # the search field is in the column at the left
    "use_download_button": False,
    "use_fullscreen_button": False,
}
copybutton_prompt_text = r">>> |\.\.\. "
copybutton_prompt_is_regexp = True


def constructor(app, what, name, obj, options, signature, returns):
    """Show what ``__init__`` takes: the base class of blocks has a ``__new__`` that takes anything."""
    if what != "class" or issubclass(obj, BaseException) or obj.__init__ is object.__init__:
        return None
    try:
        found = inspect.signature(obj.__init__)
    except (TypeError, ValueError):
        return None
    params = [p.replace(annotation=p.empty) for p in list(found.parameters.values())[1:]]
    return str(found.replace(parameters=params, return_annotation=found.empty)), returns


def setup(app):
    """Write the pages of the API before Sphinx looks for pages."""
    app.connect("builder-inited", lambda app: api_pages.write(ROOT / "docs" / "api"))
    app.connect("autodoc-process-signature", constructor)
