"""Known vulnerabilities of what the lock files name, by pip-audit, as CI asks (`tools/audit.py --since COMMIT`).

An advisory appears on any day, so one that is found fails only a change of the lock that names the package: every other
change did not bring it, and its log tells it. Where no index of advisories answers, nothing is known, which is said and
counted and fails nothing.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
LOCKS = ("requirements.lock", "requirements-dev.lock", "requirements-docs.lock", "deploy/operator.lock")
PIP_AUDIT = "pip-audit==2.10.1"
_SECONDS = 120


@dataclass(frozen=True, slots=True)
class Audit:
    """Of one lock. `unknown`: how many packages the index told nothing of. `why`: why it was not asked at all."""

    lock: str
    packages: int = 0
    unknown: int = 0
    findings: tuple[str, ...] = ()
    why: str = ""


def read_report(lock: str, report: dict[str, Any]) -> Audit:
    """`report`: what `pip-audit --format json` prints. A package that its index does not know has a `skip_reason`, and
    pip-audit then ends with 0, as if all were well."""
    packages = report["dependencies"]
    unknown = sum("skip_reason" in each for each in packages)
    findings = tuple(
        _describe(each, advisory) for each in packages for advisory in each.get("vulns") or () if "version" in each
    )
    return Audit(lock, len(packages), unknown, findings)


def _describe(package: dict[str, Any], advisory: dict[str, Any]) -> str:
    mended = ", ".join(advisory.get("fix_versions") or ()) or "no version yet"
    return f"{package['name']} {package['version']}: {advisory['id']}, mended in {mended}"


def judge(audits: Iterable[Audit], changed: Collection[str]) -> tuple[list[str], int]:
    """The lines to print and the exit code: 1 if a lock of `changed` names a package with a known vulnerability."""
    lines, code = [], 0
    for audit in audits:
        lines.append(f"{audit.lock}: {_summarize(audit)}")
        lines += [f"  {each}" for each in audit.findings]
        if audit.findings and audit.lock in changed:
            lines.append(f"  this change writes {audit.lock}: `make lock` with a version that is mended")
            code = 1
    return lines, code


def _summarize(audit: Audit) -> str:
    if audit.why:
        return f"skipped, as {audit.why}"
    if audit.unknown == audit.packages:
        return f"skipped, as the index has no advisories: it told nothing of {audit.packages} packages"
    known = f"{len(audit.findings)} known vulnerabilities in {audit.packages - audit.unknown} packages"
    return f"{known}; nothing is known of {audit.unknown} more" if audit.unknown else known


def run_audit(uv: str, lock: str) -> Audit:
    command = [uv, "tool", "run", "--from", PIP_AUDIT, "pip-audit", "-r", lock]
    command += ["--require-hashes", "--disable-pip", "--progress-spinner", "off", "--format", "json"]
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return Audit(lock, why=f"no answer came in {_SECONDS} s")
    except OSError as error:
        return Audit(lock, why=f"{uv} cannot be started: {error.strerror}")
    try:
        return read_report(lock, json.loads(done.stdout))
    except (ValueError, KeyError, TypeError):
        last = (done.stderr.strip().splitlines() or ["it said nothing"])[-1]
        return Audit(lock, why=f"pip-audit did not answer: {last}")


def find_changed(since: str) -> set[str]:
    """The locks that differ from that commit; none if there is no such commit."""
    command = ["git", "diff", "--name-only", since, "--", *LOCKS]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return set(done.stdout.split()) if done.returncode == 0 else set()


def main(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "--since", default="nothing", help="a commit; a lock that has changed since may not be vulnerable"
    )
    parser.add_argument("--uv", default=str(Path(sys.executable).parent / "uv"), help="the program that runs pip-audit")
    options = parser.parse_args(words)
    lines, code = judge([run_audit(options.uv, lock) for lock in LOCKS], find_changed(options.since))
    print("\n".join(lines))
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
