"""The pages of docs as Sphinx gets them, for the site of one language. Pure.

In docs the languages stand side by side, NAME.md and NAME.zh-CN.md, as a plain web view of the repository shows them.
Each language has a site of its own, as search, words of the theme and the table of contents have one language: there
every page is NAME.md, README is `index`, and a page that has no Chinese is in the Chinese site in English and says so.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping

from manual.markup import Link, change_links, change_prose, find_anchors, find_links
from manual.pages import find_base, find_language, find_text, list_pages, resolve

REPOSITORY = "https://github.com/paddock/paddock/blob/main"
"""Where links to files beside docs lead: `project.urls` of pyproject.toml."""

_WIDE = "\u3000-\u303f\u3400-\u9fff\uff00-\uffef"
_BREAK = re.compile(rf"(?<=[{_WIDE}])\n *(?=[{_WIDE}])")


def stage(texts: Mapping[str, str], language: str) -> dict[str, str]:
    """File name and text of every page of the site. `texts`: by path below docs."""
    return {f"{name_page(base)}.md": _stage_page(base, texts, language) for base in list_pages(texts)}


def name_page(base: str) -> str:
    """The name of a page in the site: a README is the index of its folder."""
    folder, name = posixpath.split(base)
    return posixpath.join(folder, "index" if name == "README" else name)


def list_translated(texts: Mapping[str, str]) -> list[str]:
    """The names of the pages that both sites have in their own language."""
    return [name_page(base) for base in list_pages(texts) if find_language(find_text(base, texts, "zh")) == "zh"]


def _stage_page(base: str, texts: Mapping[str, str], language: str) -> str:
    path = find_text(base, texts, language)
    text = change_links(texts[path], lambda link: _stage_link(link, path, texts, language))
    if find_language(path) != language:
        title, _, rest = text.partition("\n")
        text = f"{title}\n\n*本页只有英文。*\n{rest}"
    elif language == "zh":
        text = change_prose(text, join_chinese)
    if base.rpartition("/")[2] == "README":
        text = "\n".join((text, *_build_contents(base, path, texts, language)))
    return text


def join_chinese(text: str) -> str:
    """Without the line breaks between two Chinese signs, which a browser would show as spaces."""
    return _BREAK.sub("", text)


def _stage_link(link: Link, path: str, texts: Mapping[str, str], language: str) -> str:
    if link.is_outside or (not link.path and link.anchor):
        return _write(link, link.target)
    target = resolve(path, link.path, texts)
    if target not in texts:
        inside = not target.startswith("..")
        return _write(link, link.target if inside else f"{REPOSITORY}/{target.removeprefix('../')}")
    name, here = name_page(find_base(target)), posixpath.dirname(name_page(find_base(path)))
    if find_language(target) != find_language(path) and find_text(find_base(target), texts, language) != target:
        other = {"en": "zh", "zh": "en"}[language]
        root = "../" * (here.count("/") + 2 if here else 1)
        return f'<a href="{root}{other}/{name}.html">{link.label}</a>'
    anchor = _find_anchor(link, target, texts, language)
    return _write(link, f"{posixpath.relpath(name, here or '.')}.md{anchor}")


def _find_anchor(link: Link, target: str, texts: Mapping[str, str], language: str) -> str:
    """The heading in the language of the site: an English page names one of a page that is Chinese there by its
    English, and the Chinese one has the same number."""
    shown = find_text(find_base(target), texts, language)
    if not link.anchor or shown == target:
        return f"#{link.anchor}" if link.anchor else ""
    theirs, ours = find_anchors(texts[target]), find_anchors(texts[shown])
    same = link.anchor in theirs and len(theirs) == len(ours)
    return f"#{ours[theirs.index(link.anchor)]}" if same else ""


def _write(link: Link, target: str) -> str:
    return f"{'!' if link.is_picture else ''}[{link.label}]({target})"


def _build_contents(base: str, path: str, texts: Mapping[str, str], language: str) -> Iterator[str]:
    """The hidden tables of contents of an index: the pages that it links to, in its order, by section at the top."""
    sections = _list_sections(path, texts, language)
    if base != "README":
        top = {
            page for _, pages in _list_sections(find_text("README", texts, language), texts, language) for page in pages
        }
        own = [page for _, pages in sections for page in pages if page not in top]
        sections = [("", [page for page in own if page.startswith(base.removesuffix("README"))])]
    seen: set[str] = {base}
    for caption, pages in sections:
        new = [page for page in dict.fromkeys(pages) if page not in seen]
        seen.update(new)
        if new:
            here = posixpath.dirname(base) or "."
            names = (posixpath.relpath(name_page(page), here) for page in new)
            yield "\n".join(
                ("", "```{toctree}", *([f":caption: {caption}"] if caption else ()), ":hidden:", "", *names, "```")
            )


def _list_sections(path: str, texts: Mapping[str, str], language: str) -> list[tuple[str, list[str]]]:
    """The headings of an index with the pages that are linked below each. One text without headings has one section."""
    sections = []
    for part in texts[path].split("\n## "):
        targets = (resolve(path, link.path, texts) for link in find_links(part) if link.path and not link.is_picture)
        pages = [find_base(target) for target in targets if target in texts and find_base(target) != find_base(path)]
        sections.append((part.partition("\n")[0], pages))
    return sections[1:] if len(sections) > 1 and not sections[0][1] else sections
