"""How git is started for a repository: what it may do, and by which credentials. I/O: files for ssh."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from paddock.datasets.fetch.failures import FetchError
from paddock.datasets.fetch.tries import TryAgain
from paddock.datasets.fetching import Fault
from paddock.datasets.sources import hide, split_login
from paddock.words.phrases import phrase

_HELPER = (
    '!f() { test "$1" = get && '
    'printf \'username=%s\\npassword=%s\\n\' "$PADDOCK_GIT_USERNAME" "$PADDOCK_GIT_PASSWORD"; }; f'
)
"""A credential helper of git: words of ours alone, and the secret in variables."""

TOKEN_USER = "oauth2"  # noqa: S105
"""The name beside a token, where nobody gives one: GitLab wants this, GitHub takes any."""

_PROTOCOLS: Mapping[str, tuple[str, ...]] = {
    "https": ("https",),
    "http": ("http", "https"),
    "ssh": ("ssh",),
    "file": ("file",),
}


@dataclass(frozen=True, slots=True)
class Repository:
    """A repository, and how git asks it."""

    url: str
    options: tuple[str, ...]  # stand before git's verb
    environ: Mapping[str, str]  # all that git gets

    def explain(self, said: str, revision: str) -> Exception:
        """Git's own words as ours: `TryAgain` for what may pass, else `FetchError`."""
        for pattern, build in _EXPLANATIONS:
            if re.search(pattern, said, re.IGNORECASE):
                return build(hide(self.url), revision, _read_fatal(said))
        return FetchError(phrase("git cannot fetch {uri}: {why}", uri=hide(self.url), why=_read_fatal(said)))


@contextmanager
def open_repository(url: str, secret: Mapping[str, str], state: str) -> Iterator[Repository]:
    """`state`: the path of the directory for host keys that were seen. A private key is in a directory of its own while
    git runs, which is no place that others mount."""
    if shutil.which("git") is None:
        said = phrase("git is not installed on this machine: install it (apt-get install git)")
        raise FetchError(said, Fault.MACHINE)
    with tempfile.TemporaryDirectory(prefix="paddock-git-") as private:
        scheme = urlsplit(url).scheme
        environ = _build_environ(private, scheme)
        # All users of a machine see a command line. The name in an address of ssh is no secret, and belongs to it.
        url, given = split_login(url) if scheme in ("http", "https") else (url, None)
        options = _build_options(url, scheme)
        password = secret.get("token", "").strip() or secret.get("password", "")
        login = (secret.get("username") or TOKEN_USER, password) if password else given
        if login and scheme in ("http", "https"):
            options += ("-c", f"credential.{_read_origin(url)}.helper={_HELPER}")
            environ["PADDOCK_GIT_USERNAME"], environ["PADDOCK_GIT_PASSWORD"] = login
        if scheme == "ssh":
            environ["GIT_SSH_COMMAND"] = _build_ssh(secret, Path(private), state)
        yield Repository(url, options, environ)


def _build_environ(private: str, scheme: str) -> dict[str, str]:
    """The environment of this process, without what changes how git works; it never asks anybody. Of the home directory
    ssh needs its keys; by http it would be the passwords of ~/.netrc."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("GIT_", "PADDOCK_"))}
    environ = {
        **kept,
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_ASKPASS": "true",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_LFS_SKIP_SMUDGE": "0",
        "LC_ALL": "C",
        "HOME": os.environ.get("HOME", private) if scheme == "ssh" else private,
    }
    if certificates := os.environ.get("SSL_CERT_FILE"):
        environ["GIT_SSL_CAINFO"] = certificates
    return environ


def _build_options(url: str, scheme: str) -> tuple[str, ...]:
    """No hooks, no protocol but that of the address, no server that is silent for a minute; LFS where it is
    installed."""
    allowed = [f"protocol.{each}.allow=always" for each in _PROTOCOLS[scheme]]
    settings = [
        f"core.hooksPath={os.devnull}",
        "core.autocrlf=false",
        "core.quotePath=false",
        "advice.detachedHead=false",
        "gc.auto=0",
        "maintenance.auto=false",
        "http.lowSpeedLimit=1",
        "http.lowSpeedTime=60",
        "protocol.allow=never",
        *allowed,
        # Where git-lfs looks for its server.
        f"remote.origin.url={url}",
    ]
    if shutil.which("git-lfs"):
        settings += [
            "filter.lfs.process=git-lfs filter-process",
            "filter.lfs.smudge=git-lfs smudge -- %f",
            "filter.lfs.clean=git-lfs clean -- %f",
            "filter.lfs.required=true",
        ]
    return tuple(word for each in settings for word in ("-c", each))


def _build_ssh(secret: Mapping[str, str], private: Path, state: str) -> str:
    words = ["ssh", "-o", "BatchMode=yes", "-o", "ConnectTimeout=30", "-o", "ServerAliveInterval=15"]
    if key := secret.get("ssh-privatekey"):
        path = private / "key"
        path.touch(0o600)
        path.write_text(key.rstrip("\n") + "\n")
        words += ["-i", str(path), "-o", "IdentitiesOnly=yes"]
    if hosts := secret.get("known_hosts"):
        (private / "known_hosts").write_text(hosts.rstrip("\n") + "\n")
        words += ["-o", f"UserKnownHostsFile={private}/known_hosts", "-o", "StrictHostKeyChecking=yes"]
    else:
        # The key that a host has the first time is the one that it must have from then on.
        words += ["-o", f"UserKnownHostsFile={state}/known_hosts", "-o", "StrictHostKeyChecking=accept-new"]
    return shlex.join(words)


def _read_origin(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


def _read_fatal(text: str) -> str:
    """The line that tells most."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    told = [line for line in lines if line.startswith(("fatal:", "error:", "ERROR:", "remote:"))]
    first = (told or lines or [str(phrase("it said nothing"))])[0]
    return first.partition(": ")[2] or first


def _refused(url: str, revision: str, said: str) -> Exception:
    return FetchError(
        phrase(
            "{uri} refuses ({why}): spec.source.secretName names a Secret with username and password, a token, or "
            "ssh-privatekey",
            uri=url, why=said,
        )
    )  # fmt: skip


_EXPLANATIONS = (
    (
        r"no space left|disk quota exceeded",
        lambda url, revision, said: FetchError(phrase("the disk is full: free some space"), Fault.MACHINE),
    ),
    (
        r"authentication failed|could not read (username|password)|terminal prompts disabled|permission denied \(|"
        r"error: 40[13]|access denied|invalid username or",
        _refused,
    ),
    (
        r"host key verification failed|host identification has changed",
        lambda url, revision, said: FetchError(
            phrase(
                "the key of the host of {uri} is not the one that is known: give the right one as known_hosts in the "
                "Secret that spec.source.secretName names",
                uri=url,
            )
        ),
    ),
    (
        r"certificate (verification|problem)|certificate verify",
        lambda url, revision, said: FetchError(
            phrase(
                "the certificate of {uri} is not trusted here ({why}): name the file of its authority in the variable "
                "SSL_CERT_FILE",
                uri=url,
                why=said,
            ),
            Fault.MACHINE,
        ),
    ),
    (
        r"repository .*not found|not appear to be a git repository|does not exist|not valid: is this a git repository|"
        r"error: 404|repository not exported|no such file or directory",
        lambda url, revision, said: FetchError(
            phrase("there is no repository {uri} ({why}): correct spec.source.uri", uri=url, why=said)
        ),
    ),
    (
        r"could not resolve|connection (refused|reset|timed out|closed)|early eof|rpc failed|hung up unexpectedly|"
        r"unable to connect|failed to connect|network is unreachable|operation too slow|operation timed out|"
        r"unexpected disconnect|error: 5\d\d|couldn't connect|transfer closed",
        lambda url, revision, said: TryAgain(phrase("git cannot fetch {uri} ({why})", uri=url, why=said)),
    ),
)
