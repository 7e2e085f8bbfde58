"""Search of Chinese pages without a dictionary: the index has each two characters that stand side by side.

A question is cut in the same way, and all its pairs have to be in a page. Sphinx' own way needs jieba (19 MB), and
finds a word only where jieba has cut both text and question alike.
"""

from __future__ import annotations

from pairs import cut
from sphinx.search.en import SearchEnglish


class ChineseByPairs(SearchEnglish):
    """Latin words as in English. The same cut is in Python, for the index, and in JavaScript, for the question."""

    lang = "zh"
    language_name = "English"  # whose stemmer the page has, by this name
    js_splitter_code = r"""
function splitQuery(query) {
  return (query.match(/[\u3400-\u9fff]+|[a-zA-Z0-9_]+/g) || []).flatMap((part) => {
    if (part < "\u3400" || part.length < 2) return [part];
    return Array.from({length: part.length - 1}, (_, at) => part.slice(at, at + 2));
  });
}
"""

    def split(self, input: str) -> list[str]:
        return cut(input)
