"""The bills of materials beside the wheel (`make dist`): what its lock files install, as CycloneDX.

    tools/sbom.py DIRECTORY

writes `paddock-VERSION.cdx.json`, of requirements.lock (what `make demo` installs, with the tools that build the
wheel), and `paddock-VERSION-image.cdx.json`, of deploy/operator.lock (the Python packages of the operator's image).
Nothing is asked of an index, and no time and no random number is in them: the same locks give the same bytes.
"""

from __future__ import annotations

import json
import re
import sys
import tomllib
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
LOCKS: Mapping[str, str] = {"": "requirements.lock", "-image": "deploy/operator.lock"}
"""What follows the version in the name of a file -> the lock whose packages it lists."""

_SCHEMA = "http://cyclonedx.org/schema/bom-1.6.schema.json"
_REQUIREMENT = re.compile(r"([A-Za-z0-9._-]+)==([^\s;]+)(?:\s*;\s*(.+))?")
_HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")


@dataclass(frozen=True, slots=True)
class Package:
    """`marker`: where it is installed (PEP 508), empty for everywhere. `hashes`: the SHA-256 of its files, in hex."""

    name: str
    version: str
    marker: str
    hashes: tuple[str, ...]

    @property
    def url(self) -> str:
        """https://github.com/package-url/purl-spec, type pypi."""
        return f"pkg:pypi/{re.sub(r'[-_.]+', '-', self.name).lower()}@{self.version}"


def read_lock(text: str) -> list[Package]:
    """The packages of a lock of `uv pip compile --generate-hashes`, by name. Raises `ValueError` for a line that is no
    requirement of one version with hashes."""
    lines = text.replace("\\\n", " ").splitlines()
    return sorted(map(_read_line, filter(None, map(str.strip, lines))), key=lambda each: (each.name, each.version))


def _read_line(line: str) -> Package:
    requirement, *_ = line.partition(" --hash")
    found, hashes = _REQUIREMENT.fullmatch(requirement.strip()), _HASH.findall(line)
    if not found or not hashes:
        raise ValueError(f"a line of a lock is NAME==VERSION with hashes, and this is not: {line[:80]}")
    return Package(found[1], found[2], found[3] or "", tuple(sorted(hashes)))


def build_bom(version: str, lock: str, packages: Sequence[Package]) -> dict[str, Any]:
    """CycloneDX 1.6. `lock`: the path of the lock that names the packages."""
    root = {
        "type": "application",
        "bom-ref": f"pkg:pypi/paddock-jobs@{version}",
        "name": "paddock-jobs",
        "version": version,
        "licenses": [{"license": {"id": "Apache-2.0"}}],
        "purl": f"pkg:pypi/paddock-jobs@{version}",
    }
    components = [_build_component(each) for each in packages]
    known = json.dumps([root, components], sort_keys=True)
    return {
        "$schema": _SCHEMA,
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        # Of the content, so that the same content has the same number.
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, known)}",
        "version": 1,
        "metadata": {"component": root, "properties": [{"name": "paddock:lock", "value": lock}]},
        "components": components,
    }


def _build_component(package: Package) -> dict[str, Any]:
    """The hashes are those of all its files, of which an installation takes one: so they stand at its distribution, as
    cyclonedx-py writes them, and not at the component."""
    marker = [{"name": "paddock:environment-marker", "value": package.marker}] if package.marker else []
    return {
        "type": "library",
        "bom-ref": package.url,
        "name": package.name,
        "version": package.version,
        "purl": package.url,
        "externalReferences": [
            {
                "type": "distribution",
                "url": f"https://pypi.org/project/{package.name}/{package.version}/",
                "hashes": [{"alg": "SHA-256", "content": each} for each in package.hashes],
            }
        ],
        **({"properties": marker} if marker else {}),
    }


def build_files(root: Path = ROOT) -> dict[str, str]:
    """Name -> text of each file."""
    version = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    return {
        f"paddock-{version}{what}.cdx.json": json.dumps(
            build_bom(version, lock, read_lock((root / lock).read_text(encoding="utf-8"))), indent=2
        )
        + "\n"
        for what, lock in LOCKS.items()
    }


def main(words: Sequence[str]) -> int:
    if len(words) != 1:
        print("one directory is wanted: tools/sbom.py DIRECTORY", file=sys.stderr)
        return 2
    place = Path(words[0])
    place.mkdir(parents=True, exist_ok=True)
    for name, text in build_files().items():
        (place / name).write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
