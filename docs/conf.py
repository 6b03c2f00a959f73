"""How Sphinx builds the site; `docs/build.py` puts together what it reads."""

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx

project = "askwho"
html_title = "askwho"
language = "en"
smartquotes = False  # formulas have primes, code has quotes
extensions = ["myst_parser"]

myst_enable_extensions = ["colon_fence", "fieldlist"]
myst_heading_anchors = 4  # links lead to headings by the names that GitHub gives them

# A link to a name that nobody describes is a warning; annotations may name types of other libraries.
nitpicky = True
nitpick_ignore_regex = [(r"py:(?!obj$).*", r".*")]

add_module_names = False
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 100  # beyond it each argument has a line of its own
toc_object_entries_show_parents = "hide"

html_theme = "pydata_sphinx_theme"
html_theme_options = {
    "collapse_navigation": True,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": [],
    "footer_end": [],
}
html_copy_source = False
html_use_index = False  # the reference has an index of its own
html_domain_indices = False


def _read(_: Sphinx, page: nodes.document) -> None:
    """Take annotations at their word, and set the dashes that Sphinx leaves to smart quotes."""
    for link in page.findall(addnodes.pending_xref):
        # Annotations name what they mean in full. Where this attribute is there, whatever its value, Sphinx also looks
        # for names that only end alike.
        if not link.get("refspecific", True):
            del link["refspecific"]
    for text in list(page.findall(nodes.Text)):
        if text == " -- ":
            text.parent.replace(text, nodes.Text(" – "))


def setup(app: Sphinx) -> None:
    """Connect what is done to each page."""
    app.connect("doctree-read", _read)
