"""Small changes of the server, each of which a case of the corpus catches.

`python -m apiserver.conformance.mutants NUMBER DIRECTORY` runs a server with one change, asks it the case, and prints
what surprises.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, ModuleType
from typing import cast

_SOURCE = Path(__file__).resolve().parents[3] / "src/paddock"
_PATIENCE = 10.0


@dataclass(frozen=True, slots=True)
class Mutant:
    """`old`, which the module has once, becomes `new`; `case` catches it."""

    module: str
    """Below paddock: `apiserver.objects.strategy`."""
    old: str
    new: str
    case: str

    @property
    def path(self) -> Path:
        return _SOURCE / f"{self.module.replace('.', '/')}.py"

    def change(self) -> str:
        """The text of the module with the change."""
        text = self.path.read_text(encoding="utf-8")
        assert text.count(self.old) == 1, f"{self.module} has {text.count(self.old)} of {self.old!r}"
        return text.replace(self.old, self.new)


S, W = "apiserver.objects.strategy", "apiserver.objects.writes"
B, M = "apiserver.objects.builtin_strategies", "apiserver.objects.immutable_fields"
R, H, F = "apiserver.http.requests", "apiserver.http.handlers", "apiserver.http.formats"
D, A, N = "apiserver.admission.defaults", "apiserver.admission.rules", "kube.validation.names"
P, C, X = "kube.patches", "apiserver.kinds.custom", "kube.validation.structural"

MUTANTS: tuple[Mutant, ...] = (
    # kinds that are not served
    Mutant(H, "if listed is not None and", "if False and", "a list of Jobs of a namespace without any is empty"),
    # names and metadata
    Mutant(N, '_LABEL = r"[a-z0-9]', '_LABEL = r"[a-zA-Z0-9]', "a name with capitals is refused"),
    Mutant(N, '(\\.{_LABEL})*", 253)', '(\\.{_LABEL})*", 254)', "a name of 254 characters is refused"),
    Mutant(
        "kube.validation.metadata", '("", "Service"): names.DNS1035_LABEL.check,', "", "a Service's name has no dots"
    ),
    Mutant("kube.validation.metadata", "if first:", "if False:", "two controllers are refused"),
    Mutant(
        S,
        '"creationTimestamp": format_time(now)}',
        '"creationTimestamp": metadata(manifest).get("creationTimestamp") or format_time(now)}',
        "a client does not choose the time of creation",
    ),
    Mutant(
        S,
        '"uid": uid, "creationTimestamp"',
        '"uid": metadata(manifest).get("uid") or uid, "creationTimestamp"',
        "a client does not choose the uid",
    ),
    Mutant(
        S,
        'if value not in ({}, [], "", None)',
        "if value is not None",
        "the last label that is taken away leaves no labels",
    ),
    Mutant(
        W,
        "_PREFIX_LIMIT = 63 - _SUFFIX_LENGTH",
        "_PREFIX_LIMIT = 80",
        "a long prefix is cut, so that the name has 63 characters",
    ),
    # writes
    Mutant(
        S,
        'if version_of(incoming) not in ("", version_of(current)):',
        "if False:",
        "a replace of an older version is a conflict",
    ),
    Mutant(
        S, 'if uid_of(incoming) not in ("", uid_of(current)):', "if False:", "a replace of another uid is a conflict"
    ),
    Mutant(
        S,
        'if served.custom and not meta.get("resourceVersion"):',
        "if False:",
        "a custom object is not replaced without a version",
    ),
    Mutant(
        W,
        "        if options.dry_run:\n            body =",
        "        if False:\n            body =",
        "a dry run of a replace stores nothing",
    ),
    Mutant(
        W,
        "        if options.dry_run:\n            return stored if",
        "        if False:\n            return stored if",
        "a dry run deletes nothing",
    ),
    Mutant(
        W,
        "            if home is None:\n",
        "            if False:\n",
        "an object in a namespace that is not there is not found",
    ),
    Mutant(
        S,
        'return {key: value for key, value in manifest.items() if key != "status"}',
        "return dict(manifest)",
        "a status is not created with its object",
    ),
    Mutant(
        S,
        'current["metadata"]["generation"] + 1',
        'current["metadata"]["generation"]',
        "a custom object's generation counts changes of its spec",
    ),
    Mutant(M, 'if current.get("immutable"):', "if False:", "an immutable ConfigMap's data stays"),
    Mutant(M, '    yield from _stays(current, updated, "type")\n', "", "a Secret's type stays"),
    Mutant(M, "if _immutable_spec(old) != _immutable_spec(new):", "if False:", "a pod's command stays"),
    Mutant(M, "elif old is not None and new > old:", "elif False:", "a pod's deadline does not grow"),
    Mutant(M, 'if current.get("roleRef") != updated.get("roleRef"):', "if False:", "a binding's role stays"),
    Mutant(
        M,
        '    yield from _stays(current, updated, "spec.selector")',
        "    yield from ()",
        "a deployment's selector stays",
    ),
    # deletes
    Mutant(S, "if wanted and wanted != found:", "if False:", "a delete of another uid is a conflict"),
    Mutant(S, "if grace == 0 and not held:", "if grace == 0:", "a finalizer holds the object"),
    Mutant(S, "if is_deleting(current) and added:", "if False:", "no finalizer comes while an object is deleted"),
    Mutant(S, "elif grace < (", "elif grace > (", "a second delete shortens the grace period"),
    Mutant(
        S,
        '"Foreground": FOREGROUND, "Orphan": ORPHAN',
        '"Foreground": FOREGROUND',
        "an orphaning delete leaves the dependents without that owner",
    ),
    Mutant(
        D,
        "terminationGracePeriodSeconds=30,",
        "terminationGracePeriodSeconds=31,",
        "a pod on a node has its grace period",
    ),
    Mutant(
        B,
        'PROTECTED_NAMESPACES = frozenset({"default", "kube-system"})',
        'PROTECTED_NAMESPACES = frozenset({"kube-system"})',
        "the namespace default is not deleted",
    ),
    Mutant("apiserver.kinds.built_ins", 'if verb != "deletecollection"', "", "namespaces are not deleted together"),
    # patches
    Mutant(
        P,
        "        if value is None:\n            merged.pop(key, None)",
        "        if value is None:\n            pass",
        "a merge patch's null removes",
    ),
    Mutant(P, '    ("env",): "name",\n', "", "a strategic patch merges variables by name"),
    Mutant(P, 'if item.get("$patch") == "delete":', "if False:", "a strategic patch deletes a container"),
    Mutant(P, '    if directive == "replace":', "    if False:", "a strategic patch replaces a map"),
    Mutant(
        P,
        '    kept = patch.get("$retainKeys")\n',
        "    kept = None\n",
        "a strategic patch retains the named keys of a volume",
    ),
    Mutant(P, 'frozenset({("metadata", "finalizers"), ', "frozenset({", "a strategic patch adds to a set"),
    Mutant(
        W, 'if kind == "strategic" and served.custom:', "if False:", "a strategic patch of a custom kind is refused"
    ),
    Mutant(
        H,
        "        if media not in PATCH_TYPES:\n",
        '        if media == "application/json":\n            return "merge"\n        if media not in PATCH_TYPES:\n',
        "a patch in plain JSON is refused",
    ),
    # apply
    Mutant(
        W,
        "force=options.force, now=now, budget=budget)",
        "force=True, now=now, budget=budget)",
        "an apply of another's field is a conflict",
    ),
    Mutant(R, 'if applies and not query.get("fieldManager"):', "if False:", "an apply without a manager is refused"),
    Mutant(
        S,
        'if metadata(manifest).get("managedFields") is not None:',
        "if False:",
        "an apply with managedFields is refused",
    ),
    # watches and lists
    Mutant(
        R,
        "initial_events=initial or (wanted is None and revision == 0),",
        "initial_events=initial,",
        "a watch without a version begins with what is there",
    ),
    Mutant(
        F,
        'left = event.type == "DELETED" and change.type != "DELETED"',
        "left = False",
        "an object that leaves the selection is told as deleted",
    ),
    Mutant(
        F,
        '"k8s.io/initial-events-end": "true"',
        '"k8s.io/initial-events-end": "false"',
        "a watch may begin with what is there, and marks its end",
    ),
    Mutant(
        "apiserver.objects.reads",
        "            if limit and len(items) > left:\n                items.pop()",
        "            if limit and len(items) > left:\n                pass",
        "a limit cuts a list",
    ),
    Mutant(
        "apiserver.objects.reads",
        "if not selection.narrow and key not in _COMPUTED:",
        "if False:",
        "a page tells how many are left",
    ),
    Mutant(
        "kube.selectors",
        "return lambda labels: labels.get(key) not in values",
        "return lambda labels: labels.get(key) not in {*values, None}",
        "not in a set holds where there is no such label",
    ),
    Mutant("kube.selectors", 'if op == "in":', 'if op == "notin":', "a label in a set"),
    Mutant(
        R,
        "        if not revision:\n            raise _forbidden(",
        "        if False:\n            raise _forbidden(",
        "a match of versions needs a version",
    ),
    Mutant(H, "        if revision > present:\n", "        if False:\n", "a list of a version that does not exist yet"),
    # subresources
    Mutant(S, '    if subresource == "status":\n', "    if False:\n", "a spec is not set at the path of the status"),
    Mutant(
        B,
        'if version := metadata(scale).get("resourceVersion"):',
        "if version := None:",
        "a scale of an older version is a conflict",
    ),
    Mutant(
        B, 'if bound := pod["spec"].get("nodeName"):', "if bound := None:", "a pod that is bound is not bound again"
    ),
    # definitions and their objects
    Mutant(C, "    if name_of(crd) != expected:", "    if False:", "a definition's name is its plural and group"),
    Mutant(C, "    if len(stored) != 1:", "    if False:", "a definition has not two storage versions"),
    Mutant(C, "return read or (AGE,)", "return read", "a kind without columns has its age"),
    # defaults and validation of built-in kinds
    Mutant(D, 'restartPolicy="Always",', 'restartPolicy="Never",', "a pod has defaults"),
    Mutant(
        D,
        'tag not in ("", "latest") else "Always"',
        'tag != "latest" else "Always"',
        "an image without a tag is always pulled",
    ),
    Mutant(
        D,
        'fill(container["resources"].setdefault("requests", {}), **limits)',
        "pass",
        "limits are the default of requests",
    ),
    Mutant(
        D,
        'service.setdefault("spec", {})\n    fill(spec, type="ClusterIP"',
        'service.setdefault("spec", {})\n    fill(spec, type="NodePort"',
        "a Service has defaults",
    ),
    Mutant("kube.validation.pods", "PORTS = (1, 65_535)", "PORTS = (1, 99_999)", "a port of 70000 is refused"),
    Mutant(
        "kube.validation.pods",
        'if section == "requests" and limit is not None and amount > limit:',
        "if False:",
        "a pod with limits below requests is refused",
    ),
    Mutant(
        "apiserver.admission.pod_rules",
        'elif operator == "Exists" and value:',
        "elif False:",
        "a toleration that exists has no value",
    ),
    Mutant(
        "apiserver.admission.service_rules",
        "        if number in numbers:",
        "        if False:",
        "two ports of a Service of one number are refused",
    ),
    Mutant(A, "_DATA_LIMIT = 1024 * 1024\n", "_DATA_LIMIT = 2 * 1024 * 1024\n", "data of more than 1 MiB are refused"),
    # shapes and rights
    Mutant(
        "apiserver.printing.printers", 'len(part(secret, "data")), age(secret', "0, age(secret", "a row of a Secret"
    ),
    Mutant(
        "apiserver.access.rules",
        "return rule.allows(asked.verb, asked.group, asked.whole_resource, asked.name)",
        "return rule.allows(asked.verb, asked.group, asked.resource, asked.name)",
        "a right is not of subresources",
    ),
    Mutant(
        "apiserver.access.rules",
        "            if not any(_covers(each, part) for each in have):\n                return part.build()",
        "",
        "who may not grant more than they have is refused",
    ),
    Mutant(
        "apiserver.http.server",
        "if user is None:\n            raise explain_unauthorized()",
        "if user is None:\n            return OWNER",
        "without a token nothing is told",
    ),
    Mutant(
        "apiserver.access.token_requests",
        "not _LEAST_SECONDS <= seconds",
        "not 0 <= seconds",
        "a token of less than ten minutes is refused",
    ),
)


class _Loader(importlib.machinery.SourceFileLoader):
    """Loads a module with a change."""

    def __init__(self, name: str, mutant: Mutant) -> None:
        super().__init__(name, str(mutant.path))
        self._mutant = mutant

    def get_code(self, fullname: str) -> CodeType:
        return cast(CodeType, compile(self._mutant.change(), self.path, "exec"))


class _Finder(importlib.abc.MetaPathFinder):
    def __init__(self, mutant: Mutant) -> None:
        self._mutant = mutant

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != f"paddock.{self._mutant.module}":
            return None
        return importlib.machinery.ModuleSpec(fullname, _Loader(fullname, self._mutant), origin=str(self._mutant.path))


def main() -> None:
    mutant, directory = MUTANTS[int(sys.argv[1])], Path(sys.argv[2])
    sys.meta_path.insert(0, _Finder(mutant))
    # not at the top, as the change must come before the server is imported
    from apiserver.conformance.answers import ask_embedded
    from apiserver.conformance.corpus import CASES
    from apiserver.conformance.verdict import find_surprises

    found = ask_embedded(directory, [CASES[mutant.case]], _PATIENCE)
    print(json.dumps(sorted(find_surprises(mutant.case, found[mutant.case]))))


if __name__ == "__main__":
    main()
