"""The pages of docs/reference, docs/rights.md, docs/differences.md and the index docs/README.md, from the code (`make
reference`). `--check` changes nothing and names what is stale.
"""

from __future__ import annotations

import sys
from pathlib import Path

from manual.differences_page import build_differences_page
from manual.index import build_index
from manual.pages import find_base
from manual.reference.pages import build_pages, with_link
from manual.reference.reader import LANGUAGES, Reader, read_in
from manual.reference.rights import build_rights_page

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"


def read_sources() -> list[str]:
    """The texts of the package's modules, in the order of their paths. Programs of environments are users'."""
    paths = sorted((ROOT / "src/paddock").rglob("*.py"))
    return [path.read_text(encoding="utf-8") for path in paths if "programs" not in path.parts]


def read_texts() -> dict[str, str]:
    """Every page that is there, by its path below docs."""
    return {str(path.relative_to(DOCS)): path.read_text(encoding="utf-8") for path in sorted(DOCS.rglob("*.md"))}


def is_made(path: str) -> bool:
    """Whether this program writes the page."""
    return path.startswith("reference/") or find_base(path) in ("README", "differences", "rights")


def build_all(readers: tuple[Reader, ...] = ()) -> dict[str, str]:
    """Every page that is made, in every language, by its path below docs."""
    readers, sources = readers or tuple(map(read_in, LANGUAGES)), read_sources()
    made = {f"reference/{name}": text for each in readers for name, text in build_pages(sources, each).items()}
    made |= {f"rights{each.end}": with_link("rights", build_rights_page(each), each) for each in readers}
    made |= {f"differences{each.end}": with_link("differences", build_differences_page(each), each) for each in readers}
    others = {path: text for path, text in read_texts().items() if not is_made(path)}
    return {**made, **{f"README{each.end}": build_index({**others, **made}, each) for each in readers}}


def find_stale(pages: dict[str, str]) -> list[str]:
    """The pages that are missing, that differ, or that nothing makes any more."""
    there = {path: text for path, text in read_texts().items() if is_made(path)}
    return sorted(name for name in {*there, *pages} if there.get(name) != pages.get(name))


def tell_chinese(reader: Reader) -> None:
    """Says what tools/manual/reference/zh.json lacks, and what it has without need."""
    for text in sorted(reader.missing):
        print(f"zh.json has no Chinese of: {text}", file=sys.stderr)
    for text in sorted(set(reader.table) - reader.asked):
        print(f"zh.json has Chinese of what is nowhere: {text}", file=sys.stderr)


def main() -> int:
    readers = tuple(map(read_in, LANGUAGES))
    pages = build_all(readers)
    stale = find_stale(pages)
    tell_chinese(readers[-1])
    if "--check" in sys.argv:
        print("\n".join((*stale, "`make reference` writes them")) if stale else "the reference fits the code")
        return int(bool(stale))
    for name in stale:
        path = DOCS / name
        if name in pages:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(pages[name], encoding="utf-8")
        else:
            path.unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main())
