"""Detection of files that look like secrets: everybody who can read the namespace can read a ConfigMap. Pure.

By name and content: private keys, key stores, kubeconfigs, tokens of a known form. A `.pem` may be only a certificate,
which is public, so its content decides. Files that a .gitignore negates by name (`!server.key`) are sent
(`cli.submit.directory_files`). This guards against mistakes; a password in a program's text is not found.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from paddock.words.phrases import Phrase, phrase

_NAME = re.compile(
    r"id_(rsa|dsa|ecdsa|ed25519)(_sk)?|(.*\.)?kubeconfig|.*\.(key|p12|pfx|jks|keystore|ppk|env)|[._]?netrc",
    re.IGNORECASE,
)
"""What ssh-keygen calls its keys (ssh-keygen(1)), the usual name of a kubeconfig, stores that are not text, and where
programs look for passwords: `.env`, `.netrc` (`_netrc` on Windows)."""
_TOKEN = re.compile(
    rb"\bAKIA[0-9A-Z]{16}\b|\bhf_[A-Za-z0-9]{30,}|\bghp_[A-Za-z0-9]{30,}"
    rb"|(?i:aws_secret_access_key)[\"']?\s*[=:]\s*[\"']?[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+])"
)
"""The access keys of AWS, which have 20 and 40 characters, and tokens of Hugging Face and GitHub. A program that reads
aws_secret_access_key from elsewhere holds none."""
_PRIVATE_KEY = re.compile(rb"-----BEGIN ([A-Z0-9]+ )*PRIVATE KEY( BLOCK)?-----")
_USERS = re.compile(rb"""\busers["']?\s*:""")
_CONFIG = re.compile(rb"""\bkind["']?\s*:\s*["']?Config\b(?!\w)""")
_CLUSTERS = re.compile(rb"""\bclusters["']?\s*:""")
_CONTEXTS = re.compile(rb"""\bcontexts["']?\s*:""")
_SHOWN = 8


def is_secret(path: str, content: bytes) -> bool:
    """`path` with slashes."""
    name = path.rpartition("/")[2]
    if _NAME.fullmatch(name) or _PRIVATE_KEY.search(content) or _TOKEN.search(content):
        return True
    return _is_kubeconfig(content)


def _is_kubeconfig(content: bytes) -> bool:
    """Also without `kind`, as kubectl accepts that."""
    if not _USERS.search(content):
        return False
    return bool(_CONFIG.search(content) or (_CLUSTERS.search(content) and _CONTEXTS.search(content)))


def explain_secrets(paths: Sequence[str], directory: str, *, in_image: bool = False) -> Phrase:
    """The error for `paths`, with both remedies: ignore the file, or negate it by name. `in_image`: they would go into
    an image, not into a ConfigMap."""
    listed = "".join(f"\n  {path}" for path in paths[:_SHOWN])
    if len(paths) > _SHOWN:
        listed += f"\n  … ({len(paths)})"
    if in_image:
        return phrase(
            "{directory} holds what looks like a secret (a private key, a kubeconfig, a token), and who may pull the "
            "image could read it:{listed}\nNothing was sent. List it in {directory}/.gitignore, or, where it is meant "
            "to travel, take it back there: !{name}",
            directory=directory, listed=listed, name=paths[0].rpartition("/")[2],
        )  # fmt: skip
    return phrase(
        "{directory} holds what looks like a secret (a private key, a kubeconfig, a token), and who may read the "
        "ConfigMap could read it:{listed}\nNothing was sent. List it in {directory}/.gitignore, or, where it is meant "
        "to travel, take it back there: !{name}",
        directory=directory, listed=listed, name=paths[0].rpartition("/")[2],
    )  # fmt: skip
