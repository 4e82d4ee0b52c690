"""The documentation's site. ``make docs`` builds it into build/docs/; a warning is an error."""

from __future__ import annotations

import os
import sys
from importlib.metadata import version as _version
from pathlib import Path

# Examples run one after the other and are timed: threads of BLAS that wait for work would count.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path[:0] = [str(Path(__file__).parent / "_ext"), str(Path(__file__).parents[1])]

project = "sefr"
author = "The sefr developers"
copyright = author
version = release = _version("sefr-learn")

extensions = [
    "sphinx.ext.autodoc",
    "numpydoc",
    "myst_parser",
    "sphinx_design",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
    "generated",
    "repository",
]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["_ext", "gallery/*.py", "gallery/*.ipynb", "gallery/*.zip"]
nitpicky = False

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3

autodoc_typehints = "none"
autodoc_member_order = "alphabetical"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "abort_on_example_error": True,
    "reset_modules": ("matplotlib", "gallery_style.reset"),
    "show_memory": False,
    "show_signature": False,
    "min_reported_time": 1e9,
    "write_computation_times": False,
    "remove_config_comments": True,
    "download_all_examples": False,
    "image_srcset": ["2x"],
}

# What is copied has no prompts, and no output of what has them.
copybutton_prompt_text = r">>> |\.\.\. ?|\$ "
copybutton_prompt_is_regexp = True
copybutton_only_copy_prompt_lines = True

html_theme = "pydata_sphinx_theme"
html_context = {"default_mode": "auto"}
toc_object_entries_show_parents = "hide"
html_title = "sefr"
html_static_path = ["_static"]
html_extra_path = ["../src/sefr/studio"]  # studio.html, the page that trains in the browser
html_css_files = ["site.css"]
html_copy_source = False
html_show_search_summary = False  # it would fetch the pages, which a file may not
html_show_sourcelink = False
html_theme_options = {
    "logo": {"text": "sefr"},
    "navbar_align": "left",
    "header_links_before_dropdown": 7,
    "show_prev_next": True,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": [],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
