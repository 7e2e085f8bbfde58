"""The bills of materials beside the wheel: every package of a lock once, with its hashes; the same bytes each time."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from sbom import LOCKS, Package, build_bom, build_files, main, read_lock

from paddock.version import __version__

ROOT = Path(__file__).resolve().parents[2]
A, B = "a" * 64, "b" * 64
LOCK = f"""zipp==3.1 ; python_full_version < '3.13' \\
    --hash=sha256:{B} \\
    --hash=sha256:{A}
Typing_Ext.ensions==4.16.0 \\
    --hash=sha256:{A}
"""


def test_a_lock_is_read_by_name_with_where_each_is_installed_and_its_hashes() -> None:
    assert read_lock(LOCK) == [
        Package("Typing_Ext.ensions", "4.16.0", "", (A,)),
        Package("zipp", "3.1", "python_full_version < '3.13'", (A, B)),
    ]


@pytest.mark.parametrize(
    "line", ["requests>=2", "requests==2.32", f"-e . --hash=sha256:{A}", f"git+https://host/x --hash=sha256:{A}"]
)
def test_a_line_that_does_not_say_which_files_are_installed_is_refused(line: str) -> None:
    with pytest.raises(ValueError, match="a line of a lock is NAME==VERSION with hashes, and this is not"):
        read_lock(f"{LOCK}{line}\n")


def test_a_component_is_named_as_every_scanner_names_it() -> None:
    """https://github.com/package-url/purl-spec: small letters, and one dash for each run of dashes and the like."""
    first, second = build_bom("1.0", "x.lock", read_lock(LOCK))["components"]
    assert (first["purl"], second["purl"]) == ("pkg:pypi/typing-ext-ensions@4.16.0", "pkg:pypi/zipp@3.1")
    (distribution,) = second["externalReferences"]
    assert distribution["hashes"] == [{"alg": "SHA-256", "content": A}, {"alg": "SHA-256", "content": B}]
    assert [each["value"] for each in second["properties"]] == ["python_full_version < '3.13'"]


@pytest.mark.parametrize("what", LOCKS)
def test_each_package_of_a_lock_is_listed_once(what: str) -> None:
    bom = json.loads(build_files()[f"paddock-{__version__}{what}.cdx.json"])
    assert (bom["bomFormat"], bom["specVersion"], bom["metadata"]["component"]["version"]) == (
        "CycloneDX",
        "1.6",
        __version__,
    )
    locked = re.findall(r"^([\w.-]+)==([^\s;]+)", (ROOT / LOCKS[what]).read_text(), re.MULTILINE)
    listed = [(each["name"], each["version"]) for each in bom["components"]]
    assert listed == sorted(locked)
    references = [each["bom-ref"] for each in bom["components"]]
    assert len(set(references)) == len(references)


def test_the_same_locks_give_the_same_bytes_and_another_version_another_number(tmp_path: Path) -> None:
    for place in ("one", "two"):
        assert main([str(tmp_path / place)]) == 0
    one, two = ({file.name: file.read_bytes() for file in (tmp_path / place).iterdir()} for place in ("one", "two"))
    assert one == two
    assert set(one) == set(build_files())
    packages = read_lock(LOCK)
    numbers = {build_bom(version, "x.lock", packages)["serialNumber"] for version in ("1.0", "1.1")}
    numbers.add(build_bom("1.0", "x.lock", packages[1:])["serialNumber"])
    assert len(numbers) == 3
