"""How Sphinx builds the documentation; `make docs` runs it with warnings as errors."""

import os
import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "_ext"))

import randsub  # noqa: E402  (after the backend is chosen)

project = "randsub"
author = "The randsub developers"
project_copyright = "The randsub developers"
version = release = randsub.__version__
language = "en"

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "myst_parser",
    "sphinx_design",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
    "matplotlib.sphinxext.plot_directive",
    # Our own, in _ext.
    "mathml",
    "api_pages",
    "inherited",
]
exclude_patterns = ["_build", "reproduction.template.md", "gallery/*.ipynb", "pictures/*"]
templates_path = ["_templates"]

# -- text ---------------------------------------------------------------------------------------

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3

# -- reference ----------------------------------------------------------------------------------

autosummary_generate = True
# Types are in the docstrings, with the shape and meaning of each array.
autodoc_typehints = "none"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
nitpicky = True
# Other projects' objects. By default the build reads nothing from the network; where the pages are
# published, names of other projects are links.
IS_PUBLIC = os.environ.get("READTHEDOCS") == "True"
if IS_PUBLIC:
    extensions.append("sphinx.ext.intersphinx")
    intersphinx_mapping = {
        "python": ("https://docs.python.org/3", None),
        "numpy": ("https://numpy.org/doc/stable", None),
        "scipy": ("https://docs.scipy.org/doc/scipy", None),
        "pandas": ("https://pandas.pydata.org/docs", None),
        "matplotlib": ("https://matplotlib.org/stable", None),
        "sklearn": ("https://scikit-learn.org/stable", None),
        "joblib": ("https://joblib.readthedocs.io/en/stable", None),
        "torch": ("https://pytorch.org/docs/stable", None),
    }
OTHERS = (
    *("collections", "dataclasses", "joblib", "matplotlib", "networkx", "numpy", "pandas", "scipy"),
    *("sklearn", "torch"),
)
nitpick_ignore_regex = [(r"py:.*", rf"({'|'.join(OTHERS)})\..*")]

# -- pictures -----------------------------------------------------------------------------------

plot_formats = [("png", 180)]
plot_html_show_source_link = False
plot_html_show_formats = False
plot_rcparams = {
    "figure.constrained_layout.use": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "font.size": 10,
}
plot_apply_rcparams = True

sphinx_gallery_conf = {
    "examples_dirs": ["../examples"],
    "gallery_dirs": ["gallery"],
    "filename_pattern": r"/plot_",
    "ignore_pattern": r"(^|[/\\])(demo|groups|deep_digits|deep_table)\.py$",
    "within_subsection_order": "FileNameSortKey",
    "abort_on_example_error": True,
    "image_srcset": ["2x"],
    "backreferences_dir": "gallery/backreferences",
    "doc_module": ("randsub",),
    "inspect_global_variables": False,
    "remove_config_comments": True,
    "download_all_examples": False,
    "show_signature": False,
    # Times of the machine that built the pages say nothing about the reader's.
    "min_reported_time": 1e6,
    "write_computation_times": False,
}

# -- pages --------------------------------------------------------------------------------------

html_theme = "pydata_sphinx_theme"
html_title = "randsub"
html_static_path = ["_static"]
html_css_files = ["randsub.css"]
html_favicon = "_static/mark.svg"
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "logo": {
        "text": "randsub",
        "image_light": "_static/mark.svg",
        "image_dark": "_static/mark.svg",
    },
    "navbar_end": ["theme-switcher", *(["version-switcher"] if IS_PUBLIC else [])],
    # Where the pages are published; a copy on a disk is of one version.
    "switcher": {
        "json_url": "https://randsub.readthedocs.io/en/latest/_static/versions.json",
        "version_match": "dev" if os.environ.get("READTHEDOCS_VERSION") == "latest" else version,
    },
    "check_switcher": False,
    "navbar_align": "left",
    "header_links_before_dropdown": 7,
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
    "show_prev_next": True,
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_sidebars = {"index": [], "start": []}
