"""存储 and 共享内存: the PersistentVolumeClaims of a role, a line `CLAIM:/path` or `CLAIM:/path:ro` for each, and the
size of /dev/shm. Pure.

Only plain claims are lines: each volume a claim that the container mounts once, whole. Anything else (another kind of
volume, a part of one) leaves the field to the text. What is at /dev/shm is no line: it has a field of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from paddock.console.forms.lists import read_value, write_items, write_value
from paddock.manifests.edits import CannotEdit, Path, remove_value, set_value
from paddock.words.phrases import phrase

SHM = "/dev/shm"  # noqa: S108


class Claim(NamedTuple):
    name: str
    path: str
    read_only: bool = False


def show_claims(spec: Mapping[str, Any], container: Mapping[str, Any]) -> str | None:
    """`spec`: of the pod. None if the form cannot show what it mounts."""
    found = _read_claims(*_without_shm(spec.get("volumes"), container.get("volumeMounts")))
    if found is None:
        return None
    shown = "\n".join(f"{each.name}:{each.path}{':ro' if each.read_only else ''}" for each in found)
    try:
        return shown if parse_claims(shown) == found else None
    except CannotEdit:
        return None


def parse_claims(text: str) -> list[Claim]:
    """Raises `CannotEdit`."""
    found: list[Claim] = []
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        name, _, rest = line.strip().partition(":")
        path = rest.removesuffix(":ro")
        if not name or not path.startswith("/") or ":" in path:
            raise CannotEdit(phrase("line {line}: CLAIM:/path or CLAIM:/path:ro is wanted", line=number))
        found.append(Claim(name, path, rest.endswith(":ro")))
    return found


def write_claims(text: str, spec_path: Path, container_path: Path, wanted: Sequence[Claim]) -> str:
    """A volume of the same claim keeps its name, and what is the same in both its comments. Raises `CannotEdit`."""
    volumes_path, mounts_path = (*spec_path, "volumes"), (*container_path, "volumeMounts")
    volumes, mounts = read_value(text, volumes_path) or [], read_value(text, mounts_path) or []
    own_volumes, _ = _without_shm(volumes, mounts)
    names = {each["persistentVolumeClaim"]["claimName"]: each["name"] for each in own_volumes}
    taken = {str(each["name"]) for each in volumes}
    for place, each in enumerate(wanted):
        if each.name not in names:
            names[each.name] = _name_free(taken | set(names.values()), f"storage-{place}")
    claims = dict.fromkeys(each.name for each in wanted)
    made = [{"name": names[name], "persistentVolumeClaim": {"claimName": name}} for name in claims]
    mounted = [
        {"name": names[each.name], "mountPath": each.path} | ({"readOnly": True} if each.read_only else {})
        for each in wanted
    ]
    shm = _find_shm(volumes, mounts)
    if shm is not None:
        made.insert(shm[0], volumes[shm[0]])
        mounted.insert(shm[1], mounts[shm[1]])
    text = write_items(text, volumes_path, made, "name")
    return write_items(text, mounts_path, mounted, "mountPath")


def show_shm(spec: Mapping[str, Any], container: Mapping[str, Any]) -> str | None:
    """The size of the memory at /dev/shm, empty where nothing is mounted there; None for another volume than plain
    memory with a limit."""
    volumes, mounts = _take_list(spec.get("volumes")), _take_list(container.get("volumeMounts"))
    if not any(isinstance(each, Mapping) and each.get("mountPath") == SHM for each in mounts):
        return ""
    found = _find_shm(volumes, mounts)
    return str(volumes[found[0]]["emptyDir"]["sizeLimit"]) if found is not None else None


def write_shm(text: str, spec_path: Path, container_path: Path, size: Any) -> str:
    """`size`: a quantity; None takes it out. Raises `CannotEdit`."""
    volumes_path, mounts_path = (*spec_path, "volumes"), (*container_path, "volumeMounts")
    volumes, mounts = read_value(text, volumes_path) or [], read_value(text, mounts_path) or []
    found = _find_shm(volumes, mounts)
    if found is None:
        if size is None or any(each.get("mountPath") == SHM for each in mounts):
            return text
        name = _name_free({str(each["name"]) for each in volumes}, "dshm")  # as preflight advises
        text = set_value(text, (*volumes_path, len(volumes)), {"name": name, "emptyDir": _memory(size)})
        if any(each["mountPath"] == SHM for each in read_value(text, mounts_path) or []):
            return text
        return set_value(text, (*mounts_path, len(mounts)), {"name": name, "mountPath": SHM})
    if size is not None:
        return write_value(text, (*volumes_path, found[0], "emptyDir", "sizeLimit"), size)
    for path, place, count in ((volumes_path, found[0], len(volumes)), (mounts_path, found[1], len(mounts))):
        text = remove_value(text, path if count == 1 else (*path, place))
    return text


def _memory(size: Any) -> dict[str, Any]:
    return {"medium": "Memory", "sizeLimit": size}


def _find_shm(volumes: Sequence[Any], mounts: Sequence[Any]) -> tuple[int, int] | None:
    """The places of a plain volume in memory and of its mount at /dev/shm."""
    at = [place for place, each in enumerate(mounts) if isinstance(each, Mapping) and each.get("mountPath") == SHM]
    if len(at) != 1 or set(mounts[at[0]]) != {"name", "mountPath"}:
        return None
    name = mounts[at[0]]["name"]
    for place, each in enumerate(volumes):
        own = each.get("emptyDir") if isinstance(each, Mapping) and each.get("name") == name else None
        if isinstance(own, Mapping) and set(own) == {"medium", "sizeLimit"} and own["medium"] == "Memory":
            is_shared = any(
                isinstance(other, Mapping) and other.get("name") == name
                for number, other in enumerate(mounts)
                if number != at[0]
            )
            return None if is_shared else (place, at[0])
    return None


def _without_shm(volumes: Any, mounts: Any) -> tuple[list[Any], list[Any]]:
    volumes, mounts = _take_list(volumes), _take_list(mounts)
    found = _find_shm(volumes, mounts)
    if found is not None:
        del volumes[found[0]], mounts[found[1]]
    return volumes, mounts


def _take_list(value: Any) -> list[Any]:
    """What is typed may be anything, which preflight says; it has no volumes."""
    return list(value) if isinstance(value, list) else []


def _read_claims(volumes: Sequence[Any], mounts: Sequence[Any]) -> list[Claim] | None:
    claims: dict[str, str] = {}
    for each in volumes:
        claim = each.get("persistentVolumeClaim") if isinstance(each, Mapping) else None
        if (
            not isinstance(claim, Mapping)
            or set(each) != {"name", "persistentVolumeClaim"}
            or set(claim) != {"claimName"}
        ):
            return None
        claims[str(each["name"])] = str(claim["claimName"])
    found = []
    for each in mounts:
        if not isinstance(each, Mapping) or not {"name", "mountPath"} <= set(each) <= {"name", "mountPath", "readOnly"}:
            return None
        if (
            not isinstance(each["name"], str)
            or each["name"] not in claims
            or not isinstance(each.get("readOnly", False), bool)
        ):
            return None
        found.append(Claim(claims[each["name"]], str(each["mountPath"]), each.get("readOnly", False)))
    mounted = {each.name for each in found}
    is_whole = mounted == set(claims.values()) and len(mounted) == len(claims) == len(found)
    return found if is_whole else None


def _name_free(taken: set[str], wanted: str) -> str:
    names = (f"{wanted}-{number}" if number else wanted for number in range(len(taken) + 1))
    return next(each for each in names if each not in taken)
