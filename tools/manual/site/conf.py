"""Sphinx' settings of the site, for both languages (`make docs`). MANUAL_LANGUAGE is en or zh."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from chinese_search import ChineseByPairs  # noqa: E402 - it lies beside this file

LANGUAGE = os.environ["MANUAL_LANGUAGE"]
TRANSLATED = json.loads(os.environ["MANUAL_TRANSLATED"])

project = "Paddock"
language = {"en": "en", "zh": "zh_CN"}[LANGUAGE]
extensions = ["myst_parser", "sphinx_copybutton"]
root_doc = "index"
nitpicky = True
smartquotes = False
highlight_language = "text"
myst_heading_anchors = 4

html_theme = "furo"
html_title = {"en": "Paddock", "zh": "Paddock 文档"}[LANGUAGE]
html_static_path = [str(HERE / "static")]
html_css_files = ["manual.css"]
templates_path = [str(HERE / "templates")]
html_show_copyright = False
html_show_sphinx = False
html_show_sourcelink = False
html_copy_source = False
html_use_index = False
html_sidebars = {
    "**": [
        "sidebar/brand.html",
        "languages.html",
        "sidebar/search.html",
        "sidebar/scroll-start.html",
        "sidebar/navigation.html",
        "sidebar/scroll-end.html",
    ]
}
html_context = {
    "other": {"en": ("zh", "zh-CN", "中文"), "zh": ("en", "en", "English")}[LANGUAGE],
    "translated": TRANSLATED,
}


def setup(app: Any) -> None:
    app.add_search_language(ChineseByPairs)
