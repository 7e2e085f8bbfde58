"""pip's output as sentences: whose fault, what was found, what to do. Pure, and readable by Python 3.7.

One ordered table; the first row that matches speaks. Texts are those of pip 22.3 to 26.3 with `-vv`: less than that
does not say why a page could not be fetched. Only hosts are named, never a whole URL, as URLs carry passwords.
"""

from __future__ import annotations

import re
from typing import NamedTuple

PLATFORMS = "Linux on x86-64 or aarch64 with glibc 2.28 or newer"


class Machine(NamedTuple):
    """What the sentences need to know of this machine. `proxy`: host and the setting that names it, empty where none
    does; `connected`: whether there is a way out at all; `platform`: Python and CPU, for people."""

    proxy: str
    setting: str
    connected: bool
    platform: str


class Failure(NamedTuple):
    """`found` and `advice` make the sentence; `passing`: another try may succeed; `slow`: so may more patience."""

    found: str
    advice: str
    passing: bool = False
    slow: bool = False

    @property
    def sentence(self) -> str:
        return f"{self.found}: {self.advice}"


def explain_pip(output: str, machine: Machine) -> Failure:
    """Why this run of pip failed."""
    for pattern, explain in _ROWS:
        match = re.search(pattern, output)
        if match:
            return explain(output, match, machine)
    return Failure(f"pip failed ({last_error(output)})", "read the log, and try again")


def last_error(output: str) -> str:
    """The line that says most, without URLs' paths."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("ERROR:") and line != "ERROR: Exception:"]
    line = (errors or lines or ["it ended without a word"])[-1]
    return redact(line.replace("ERROR: ", ""))[:200]


def redact(text: str) -> str:
    """URLs cut down to scheme and host."""
    return re.sub(r"\b([a-z][a-z0-9+.-]*)://(?:[^\s/'\"]*@)?([^\s/'\")]*)[^\s'\")]*", r"\1://\2", text)


def _host(output: str) -> str:
    """The index that failed, else the last one that was asked."""
    for pattern in (r"Could not fetch URL {}", r"Skipping page {}", r"Getting page {}", r"(?:Downloading|for url:) {}"):
        found = re.findall(pattern.format(r"https?://(?:[^\s/@]*@)?([^\s/:]+(?::\d+)?)"), output)
        if found:
            return str(found[-1])
    host = re.search(r"host='([^']+)'", output)
    return host.group(1) if host else _INDEX


_INDEX = "the package index"
_OTHER_INDEX = "set PIP_INDEX_URL to an index that this machine can reach"


def _no_space(output, match, machine):
    return Failure("the disk is full", "free some space where this clone lies, then try again")


def _proxy(output, match, machine):
    where = f"the proxy {machine.proxy} ({machine.setting})" if machine.proxy else "the proxy"
    answer = re.search(r"Tunnel connection failed: (\d+ [A-Za-z ]+)", output)
    if answer:
        advice = f"give {machine.setting or 'its setting'} a user and password that it takes"
        if not answer.group(1).startswith("407"):
            advice = f"ask who runs it to allow {_host(output)}, or set PIP_INDEX_URL to an index that it allows"
        return Failure(f"{where} answers {answer.group(1).strip()}", advice)
    advice = f"correct or unset {machine.setting or 'HTTPS_PROXY'}"
    return Failure(f"{where} cannot be reached", advice)


def _certificate(output, match, machine):
    if "expired" in match.group(0) or "not yet valid" in output:
        return Failure(f"the certificate of {_host(output)} is not valid today", "check this machine's clock (date)")
    return Failure(
        f"the certificate of {_host(output)} is not trusted here",
        "set PIP_CERT to a file with your organisation's certificates, or install ca-certificates",
    )


def _access(output, match, machine):
    return Failure(
        f"the package index {_host(output)} refuses access ({match.group(1) or match.group(2)})",
        "check the user and password in PIP_INDEX_URL, pip's settings (pip config list) or ~/.netrc",
    )


def _unknown_name(output, match, machine):
    if not machine.connected:
        return _no_network(output, match, machine)
    return Failure(
        f"the name {_host(output)} cannot be resolved".replace("name the", "name of the"),
        f"check the network and DNS (/etc/resolv.conf), or {_OTHER_INDEX}",
        passing=True,
    )


def _no_network(output, match, machine):
    return Failure("this machine has no network", "connect it, then try again")


def _unreachable(output, match, machine):
    if not machine.connected:
        return _no_network(output, match, machine)
    return Failure(f"{_host(output)} cannot be reached", f"check the network, or {_OTHER_INDEX}", passing=True)


def _silent(output, match, machine):
    return Failure(f"{_host(output)} does not answer", f"check the network, or {_OTHER_INDEX}", passing=True, slow=True)


def _broken_off(output, match, machine):
    return Failure(f"the connection to {_host(output)} broke off", "try again", passing=True)


def _server_error(output, match, machine):
    return Failure(
        f"the package index {_host(output)} has an error of its own ({match.group(1) or match.group(2)})",
        f"try again later, or {_OTHER_INDEX}",
        passing=True,
    )


def _hashes(output, match, machine):
    package = re.search(r"DO NOT MATCH THE HASHES[\s\S]*?\n\s+(\S+?)(?:==(\S+))? from ", output)
    subject = f"{package.group(1)} {package.group(2) or ''}".strip() if package else "a package"
    return Failure(
        f"the file of {subject} from {_origin(output)} is not the one that requirements*.lock names (its hash differs)",
        "nothing of it was installed; a proxy or mirror changes files: use another index (PIP_INDEX_URL), or tell us",
    )


def _origin(output: str) -> str:
    host = re.search(r"DO NOT MATCH THE HASHES[\s\S]*? from https?://(?:[^\s/@]*@)?([^\s/]+)", output)
    return host.group(1) if host else _host(output)


def _no_version(output, match, machine):
    """No candidate at all, or none that fits: a page that is no index, a platform without wheels, an old mirror."""
    if not re.search(r"Getting page|Fetched page|Looking up ", output):
        # Few words do not tell these apart: the next try, with all of them, does.
        return Failure(f"pip did not find {match.group(1)} {match.group(2)}", "read the log", passing=True)
    name, version, versions = match.groups()
    wheel = re.escape(name).replace(r"\-", "[-_.]").replace("_", "[-_.]") + "-" + re.escape(version) + "-"
    if re.search(rf"none of the wheel's tags[^\n]*/{wheel}", output, re.IGNORECASE):
        return Failure(
            f"{name} {version} has no wheel for {machine.platform}", f"Paddock runs on {PLATFORMS}; use such a machine"
        )
    if versions == "none":
        return Failure(
            f"{_host(output)} answers, but not as a package index",
            "if this network asks for a login, log in with a browser first; else check PIP_INDEX_URL (pip config list)",
        )
    latest = versions.split(", ")[-1]
    return Failure(
        f"the package index {_host(output)} has no {name} {version} (its latest is {latest})",
        "it is a mirror that lags behind: try again later, or set PIP_INDEX_URL to another index",
    )


def _not_found(output, match, machine):
    return Failure(
        f"{_host(output)} knows no package there (404)",
        "PIP_INDEX_URL names a wrong path: it ends with /simple on most indexes (pip config list)",
    )


_ROWS = (
    (r"\[Errno (?:28|122)\]|No space left on device|Disk quota exceeded", _no_space),
    (r"ProxyError|Tunnel connection failed|proxy connection error|[Cc]annot connect to proxy", _proxy),
    (r"DO NOT MATCH THE HASHES", _hashes),
    (r"CERTIFICATE_VERIFY_FAILED[^\n]*|confirming the ssl certificate[^\n]*", _certificate),
    (r"\b(401|403) (?:Client )?Error|HTTP error (401|403)", _access),
    (
        r"Name or service not known|[Tt]emporary failure in name resolution|Errno -[235]\]|No address associated|"
        r"NameResolutionError|Failed to resolve",
        _unknown_name,
    ),
    (r"Network is unreachable|No route to host|Connection refused", _unreachable),
    (r"too many (5\d\d) error|\b(5\d\d) Server Error", _server_error),
    (r"[Rr]ead timed out|ConnectTimeout|timed out|didn't respond within", _silent),
    (
        r"IncompleteRead|Connection (?:reset|aborted|broken)|RemoteDisconnected|not enough bytes|ProtocolError",
        _broken_off,
    ),
    (r"Failed to establish a new connection", _unreachable),
    (r"Could not fetch URL[^\n]* 404 Client Error", _not_found),
    (
        r"Could not find a version that satisfies the requirement ([^\s=]+)==(\S+)[^(]*"
        r"(?:\(from [^v][^)]*\) )?\(from versions: ([^)]*)\)",
        _no_version,
    ),
)
