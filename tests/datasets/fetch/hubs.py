"""A hub on 127.0.0.1 that speaks what Hugging Face's and ModelScope's libraries ask, for one repository: ann/words."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

from aiohttp import web

COMMIT = "c" * 40


@dataclass
class Hub:
    """`large`: names of files that are kept as LFS, behind a redirect to another address. `token`: what must be given.
    `problem`: the code that Hugging Face answers everything with."""

    files: dict[str, bytes]
    large: frozenset[str] = frozenset()
    token: str = ""
    problem: str = ""
    spoilt: set[str] = field(default_factory=set)
    """Files whose bytes are not those that the listing tells."""
    tokens: list[str] = field(default_factory=list)
    """What each request for a file had as its Authorization, by its path."""

    def answer(self, request: web.Request) -> web.Response | None:
        path = unquote(request.path)
        if path.startswith("/cdn/"):
            self.tokens.append(f"cdn {request.headers.get('Authorization', '')}")
            return self._give(request, path.removeprefix("/cdn/"))
        if self.problem:
            status = 403 if self.problem == "GatedRepo" else 404
            return web.Response(status=status, headers={"X-Error-Code": self.problem, "X-Error-Message": "no"})
        if self.token and request.headers.get("Authorization") != f"Bearer {self.token}":
            return web.Response(status=401, headers={"X-Error-Code": "RepoNotFound"})
        return self._answer_hugging_face(request, path) or self._answer_modelscope(request, path)

    def _answer_hugging_face(self, request: web.Request, path: str) -> web.Response | None:
        if path.startswith("/api/datasets/ann/words/tree/"):
            return web.json_response([self._describe(name) for name in self.files])
        if path in ("/api/datasets/ann/words", "/api/datasets/ann/words/revision/main"):
            return web.json_response({"id": "ann/words", "sha": COMMIT, "siblings": [], "tags": [], "downloads": 0})
        if path.startswith("/api/datasets/ann/words/revision/"):
            return web.Response(status=404, headers={"X-Error-Code": "RevisionNotFound"})
        if path.startswith("/api/datasets/"):
            return web.Response(status=404, headers={"X-Error-Code": "RepoNotFound"})
        start = f"/datasets/ann/words/resolve/{COMMIT}/"
        if not path.startswith(start):
            return None
        name = path.removeprefix(start)
        self.tokens.append(f"hub {request.headers.get('Authorization', '')}")
        if name in self.large:
            port = request.url.port
            return web.Response(status=302, headers={"Location": f"http://localhost:{port}/cdn/{name}"})
        return self._give(request, name)

    def _answer_modelscope(self, request: web.Request, path: str) -> web.Response:
        if path == "/api/v1/datasets/ann/words/repo/tree":
            first = request.query.get("PageNumber", "1") == "1"
            files = [self._describe_for_modelscope(name) for name in self.files] if first else []
            return web.json_response({"Code": 200, "Success": True, "Data": {"Files": files}})
        if path == "/api/v1/datasets/ann/words/repo":
            return self._give(request, request.query["FilePath"])
        return web.json_response({"Code": 404, "Success": False, "Message": "not found"}, status=404)

    def _give(self, request: web.Request, name: str) -> web.Response:
        data = self.files[name] if name not in self.spoilt else self.files[name][::-1]
        begin = int(request.headers.get("Range", "bytes=0-")[6:-1])
        if begin == 0:
            return web.Response(body=data)
        headers = {"Content-Range": f"bytes {begin}-{len(data) - 1}/{len(data)}"}
        return web.Response(status=206, body=data[begin:], headers=headers)

    def _describe(self, name: str) -> dict[str, Any]:
        data = self.files[name]
        found = {"type": "file", "path": name, "size": len(data), "oid": hash_blob(data)}
        if name in self.large:
            oid = hashlib.sha256(data).hexdigest()
            found |= {"oid": hash_blob(b"pointer"), "lfs": {"oid": oid, "size": len(data), "pointerSize": 134}}
        return found

    def _describe_for_modelscope(self, name: str) -> dict[str, Any]:
        data = self.files[name]
        return {"Path": name, "Type": "blob", "Size": len(data), "Sha256": hashlib.sha256(data).hexdigest()}


def hash_blob(data: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()
