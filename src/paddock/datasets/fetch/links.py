"""Where the links of a dataset lead. Pure.

They are judged inside the dataset, by their texts: the directory that is filled has another path than the one where a
pod mounts it, so a link that comes back by the name of that directory leads elsewhere there.
"""

from __future__ import annotations

from collections.abc import Mapping

MOST_FOLLOWED = 40
"""Links in one path, of which Linux follows no more (MAXSYMLINKS): a path with more ends nowhere."""


def find_end(name: str, links: Mapping[str, str]) -> str | None:
    """The path below the dataset to which a link leads, through further ones; empty for the dataset itself, None if it
    leads out, be it only on the way. `links`: all links of the dataset, the text of each by its name."""
    path, left = name.split("/"), [""]
    followed = 0
    while left:
        part = left.pop()
        if part == "..":
            if not path:
                return None
            path.pop()
        elif part not in ("", "."):
            path.append(part)
        text = links.get("/".join(path))
        if text is None or followed == MOST_FOLLOWED:
            continue
        if text.startswith("/"):
            return None
        followed += 1
        path.pop()
        left += reversed(text.split("/"))
    return "/".join(path)
