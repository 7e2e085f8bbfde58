"""The pages of the documentation by their names: `places/ack` is places/ack.md and places/ack.zh-CN.md. Pure."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping

CHINESE = ".zh-CN.md"


def find_base(path: str) -> str:
    """`places/ack.zh-CN.md` -> `places/ack`"""
    return path.removesuffix(CHINESE).removesuffix(".md")


def find_language(path: str) -> str:
    return "zh" if path.endswith(CHINESE) else "en"


def list_pages(texts: Mapping[str, str]) -> list[str]:
    """The pages, without their language. Each has English; `texts` is by path."""
    return sorted({find_base(path) for path in texts})


def find_text(base: str, texts: Mapping[str, str], language: str) -> str:
    """The path of a page in this language, in English where it has no other."""
    chinese = f"{base}{CHINESE}"
    return chinese if language == "zh" and chinese in texts else f"{base}.md"


def resolve(path: str, target: str, texts: Mapping[str, str]) -> str:
    """The path that a link of the page `path` names, both below docs; `../…` for what is beside docs. A folder is its
    README, in the language of the page where it has that."""
    found = posixpath.normpath(posixpath.join(posixpath.dirname(path), target)) if target else path
    index = posixpath.join(found, "README.md")
    return find_text(find_base(index), texts, find_language(path)) if index in texts else found
