"""Lists a repository of a hub by the hub's own library, under an interpreter that has it and no part of Paddock.

It reads one JSON object from standard input: hub (huggingface or modelscope), name, kind (dataset or model), revision,
token and endpoint (each may be empty). It prints lines of JSON: `{"revision": COMMIT, "headers": {...}}`, then one
`[PATH, SIZE, SHA256, BLOB, URL]` for each file (SHA256 and BLOB, git's SHA-1, may be empty); or `{"failed": WHY,
"detail": TEXT}`, with exit code 1. WHY is library, repository, gated, refused, revision or network.
"""

from __future__ import annotations

import json
import sys


def say(value: object) -> None:
    sys.stdout.write(json.dumps(value) + "\n")


class Failure(Exception):
    def __init__(self, why: str, detail: object) -> None:
        super().__init__(why)
        self.why, self.detail = why, (str(detail).strip() or type(detail).__name__).splitlines()[0]


def list_hugging_face(asked: dict[str, str]) -> None:
    try:
        from huggingface_hub import HfApi, errors, hf_hub_url, utils  # type: ignore[import-not-found]
    except ImportError as error:
        raise Failure("library", error) from None
    place = {"repo_id": asked["name"], "repo_type": asked["kind"]}
    # Not the token of whoever has logged in on this machine.
    token, endpoint = asked["token"] or False, asked["endpoint"] or None
    api = HfApi(endpoint=endpoint, token=token)
    try:
        commit = api.repo_info(**place, revision=asked["revision"] or None).sha
        say({"revision": commit, "headers": utils.build_hf_headers(token=token)})
        for each in api.list_repo_tree(**place, revision=commit, recursive=True):
            if hasattr(each, "blob_id"):
                url = hf_hub_url(**place, filename=each.path, revision=commit, endpoint=endpoint)
                checksum = each.lfs.sha256 if each.lfs else ""
                say([each.path, each.size, checksum, "" if checksum else each.blob_id, url])
    except errors.GatedRepoError as error:
        raise Failure("gated", error) from None
    except errors.RepositoryNotFoundError as error:
        raise Failure("repository", error) from None
    except errors.RevisionNotFoundError as error:
        raise Failure("revision", error) from None
    except errors.HfHubHTTPError as error:
        status = getattr(getattr(error, "response", None), "status_code", 0)
        raise Failure("refused" if status in (401, 403) else "network", error) from None
    except Exception as error:
        raise Failure("network", error) from None


def list_modelscope(asked: dict[str, str]) -> None:
    try:
        from modelscope_hub import HubApi, errors  # type: ignore[import-not-found]
    except ImportError as error:
        raise Failure("library", error) from None
    revision = asked["revision"] or "master"
    token = asked["token"]
    try:
        api = HubApi(endpoint=asked["endpoint"] or None, token=token or None)
        files = api.list_repo_files(asked["name"], asked["kind"], revision=revision)
        say({"revision": revision, "headers": {"Authorization": f"Bearer {token}"} if token else {}})
        for each in files:
            if each.type != "tree":
                url = api.legacy.get_download_url(asked["name"], asked["kind"], each.path, revision)
                say([each.path, each.size, each.sha256 or "", "", url])
    except errors.NotExistError as error:
        raise Failure("repository", error) from None
    except (errors.AuthenticationError, errors.PermissionDeniedError) as error:
        raise Failure("refused", error) from None
    except (errors.HubError, OSError) as error:
        raise Failure("network", error) from None


def main() -> int:
    asked = json.load(sys.stdin)
    try:
        (list_hugging_face if asked["hub"] == "huggingface" else list_modelscope)(asked)
    except Failure as failure:
        say({"failed": failure.why, "detail": failure.detail})
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
