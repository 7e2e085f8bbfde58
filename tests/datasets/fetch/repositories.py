"""Repositories for tests, made with git, and an http server that gives their files."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

ENVIRON = {
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_AUTHOR_NAME": "Ann",
    "GIT_AUTHOR_EMAIL": "ann@example.com",
    "GIT_COMMITTER_NAME": "Ann",
    "GIT_COMMITTER_EMAIL": "ann@example.com",
    "GIT_AUTHOR_DATE": "2026-01-01T00:00:00Z",
    "GIT_COMMITTER_DATE": "2026-01-01T00:00:00Z",
}


class Repository:
    """A repository with a work tree, whose branch is `main`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.mkdir()
        self.git("init", "--quiet", "--initial-branch=main")

    @property
    def uri(self) -> str:
        return f"git+file://{self.path}"

    def git(self, *words: str, given: bytes | None = None) -> str:
        command = ["git", "-C", str(self.path), *words]
        environ = {**os.environ, **ENVIRON}
        return (
            subprocess.run(command, env=environ, input=given, check=True, capture_output=True).stdout.decode().strip()
        )

    def commit(self, files: dict[str, bytes | str | None]) -> str:
        """Writes files (text: a link to it; None: removes), and gives the commit."""
        for name, content in files.items():
            path = self.path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.unlink(missing_ok=True)
            if isinstance(content, str):
                path.symlink_to(content)
            elif content is not None:
                path.write_bytes(content)
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message=one", "--allow-empty")
        return self.git("rev-parse", "HEAD")

    def commit_tree(self, mode: str, name: str) -> str:
        """A commit of one entry whose name git itself would not add."""
        blob = self.git("hash-object", "-w", "--stdin", given=b"x")
        tree = b"%s %s\0" % (mode.encode(), name.encode()) + bytes.fromhex(blob)
        found = self.git("hash-object", "-w", "-t", "tree", "--literally", "--stdin", given=tree)
        commit = self.git("commit-tree", found, "-m", "bad")
        self.git("update-ref", "refs/heads/main", commit)
        return commit
