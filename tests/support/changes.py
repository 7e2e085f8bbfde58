"""What has changed since a commit, by git, and what each module of a tree says (`support.imports`).

PYTHONPATH=tests python -m support.changes 10     what `pytest --affected` would have run for the ten last commits
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from support.imports import TOP, Facts, Part, read_facts
from support.selection import is_module, is_test, name_path, select

_ROOT = Path(__file__).resolve().parents[2]


def find_changed(root: Path, revision: str) -> tuple[str, set[str]]:
    """The short name of the commit, and the files that differ from it: both names of one that was renamed."""
    since = _find_commit(root, revision)
    changed = _git(root, "diff", "--name-only", "--no-renames", "-z", since, "--").split("\0")
    new = _git(root, "ls-files", "-z", "--others", "--exclude-standard").split("\0")
    return _git(root, "rev-parse", "--short", since).strip(), {*changed, *new} - {""}


def _find_commit(root: Path, revision: str) -> str:
    try:
        if not revision:
            return _git(root, "merge-base", "HEAD", "@{upstream}").strip()
    except pytest.UsageError:  # no upstream
        revision = "HEAD"
    try:
        return _git(root, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}").strip()
    except pytest.UsageError:
        _git(root, "rev-parse", "--git-dir")
        advice = "write a commit, a branch or a tag: --affected=HEAD~3"
        if (root / revision).exists():
            advice = (
                f"what follows --affected is its commit: put {revision} before it, or write --affected=HEAD {revision}"
            )
        raise pytest.UsageError(f"--affected: git knows no commit {revision!r} in {root}; {advice}") from None


def _git(root: Path, *words: str) -> str:
    try:
        ended = subprocess.run(["git", "-C", str(root), *words], capture_output=True, text=True)
    except OSError as error:
        raise pytest.UsageError(f"--affected asks git what has changed, and git does not run here: {error}") from None
    if ended.returncode:
        said = ended.stderr.strip() or f"exit code {ended.returncode}"
        advice = "run pytest in a clone of the repository, or without --affected"
        raise pytest.UsageError(f"--affected asks git what has changed, and git {words[0]} failed: {said}; {advice}")
    return ended.stdout


def read_tree(root: Path, known: Mapping[str, Any]) -> tuple[dict[str, Facts], dict[str, Any]]:
    """The facts of every module of a tree that git does not ignore, and what to remember of them: `known` next time.

    A file is the same while its size and its time are; `known` of another version of this reader is worth nothing.
    """
    version = (Path(__file__).with_name("imports.py")).read_text(encoding="utf-8")
    old = known.get("files", {}) if known.get("version") == version else {}
    files: dict[str, Any] = {}
    facts: dict[str, Facts] = {}
    listed = _git(root, "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", "*.py").split("\0")
    for path in sorted(filter(is_module, {*listed} - {""})):
        try:
            status = (root / path).stat()
        except OSError:  # removed, and git has not been told
            continue
        stamp = [status.st_size, status.st_mtime_ns]
        entry = old.get(path)
        if entry is None or entry[0] != stamp:
            entry = [stamp, read_file(path, (root / path).read_bytes()).to_json()]
        files[path], facts[path] = entry, Facts.from_json(entry[1])
    return facts, {"version": version, "files": files}


def read_file(path: str, content: bytes) -> Facts:
    """A file that is no Python, as while it is edited, may need every module."""
    name = name_path(path)
    package = name if path.endswith("/__init__.py") else name.rpartition(".")[0]
    try:
        return read_facts(content, package, tests=not path.startswith("src/"))
    except (SyntaxError, ValueError):
        return Facts({TOP: Part({"?paddock."})}, [], [], [])


def tell_history(number: int) -> Iterator[str]:
    """A row for each of the last commits. The last column: test files that it changed and that its other changes do not
    reach. A test that is changed together with the product is mostly one of what has changed there."""
    yield "commit   changed  test files run  reason, or changed test files that its other changes do not reach"
    known: dict[str, Facts] = {}
    for commit in _git(_ROOT, "rev-list", "--no-merges", "-n", str(number), "HEAD").split():
        changed = set(_git(_ROOT, "diff", "--name-only", "--no-renames", "-z", f"{commit}^", commit).split("\0")) - {""}
        facts = _read_commit(commit, known)
        found = select(facts, changed, commit)
        tests = {path for path in changed if is_test(path)} & facts.keys()
        missed = sorted(tests - select(facts, changed - tests, commit).chosen) if changed - tests else []
        said = found.reason or ", ".join(missed)
        yield f"{commit[:7]}  {len(changed):7}  {len(found.chosen):6} of {len(found.tests)}   {said}"


def _read_commit(commit: str, known: dict[str, Facts]) -> dict[str, Facts]:
    """The facts of a commit's modules. `known`: by the name of their content."""
    listed = (line.split(maxsplit=3) for line in _git(_ROOT, "ls-tree", "-r", commit).splitlines())
    blobs = {path: blob for _, _, blob, path in listed if is_module(path)}
    for path, blob in blobs.items():
        if f"{path} {blob}" not in known:
            known[f"{path} {blob}"] = read_file(path, _git(_ROOT, "cat-file", "blob", blob).encode())
    return {path: known[f"{path} {blob}"] for path, blob in blobs.items()}


if __name__ == "__main__":
    for row in tell_history(int(sys.argv[1])):
        print(row)
