"""Helm, the chart, and what its files are generated from."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import yaml

from paddock.datasets.crd import build_crd as build_dataset_crd
from paddock.install.crd import build_crd
from paddock.install.rights import (
    AGGREGATED,
    OF_LOGS,
    USERS,
    Right,
    Where,
    build_keeper_rights,
    build_rights,
    build_rules,
)
from paddock.install.webhook import build_webhook_rights
from paddock.jobs.apis.registry import KINDS, SCALED
from paddock.kube.meta import Manifest, Resource, name_of
from support.programs import need

ROOT = Path(__file__).resolve().parents[2]
CHART = ROOT / "deploy" / "chart" / "paddock"
_LOADER: type[yaml.SafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def find_helm() -> str:
    """The one that is installed beside this Python, else that of the machine."""
    return shutil.which("helm", path=str(Path(sys.executable).parent)) or need("helm")


def helm(*words: str, seconds: float = 120) -> subprocess.CompletedProcess[str]:
    """Runs in the root of the repository, as the paths of the documents are relative to it."""
    command = [find_helm(), *words]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=seconds, check=False)


def render(namespace: str, *values: str) -> list[Manifest]:
    """The objects of `helm template`. `values`: as after `--set`."""
    words = [word for value in values for word in ("--set", value)]
    done = helm("template", "paddock", str(CHART), "-n", namespace, *words)
    assert done.returncode == 0, done.stderr
    return [each for each in yaml.load_all(done.stdout, Loader=_LOADER) if each]


def build_rights_file() -> str:
    """files/rights.json. The rules of one kind are those of any other, under its own names; the templates join the
    rules of the kinds that are asked for."""
    every = build_rights(KINDS)
    return _write(
        {
            "kinds": [_describe(kind) for kind in KINDS],
            "jobs": _read_forms(every),
            "children": build_rules(right for right in _without_jobs(set(KINDS) - set(SCALED)) if _of_jobs(right)),
            "childrenAndDatasets": build_rules(
                right for right in _without_jobs(set(KINDS) - set(SCALED), datasets=True) if _of_jobs(right)
            ),
            "scaling": build_rules(_read_scaling()),
            "logs": build_rules(OF_LOGS),
            "leading": build_rules(right for right in every if right.where is Where.OWN),
            "sharing": build_rules(right for right in build_rights(KINDS, sharing=True) if right.where is Where.OWN),
            "cluster": build_rules(right for right in every if right.where is Where.CLUSTER),
            "users": {user: {"aggregated": AGGREGATED[user], "verbs": list(verbs)} for user, verbs in USERS.items()},
            "keeper": build_rules(build_keeper_rights(KINDS)),
            "webhook": [_without_name(rule) for rule in build_rules(build_webhook_rights("x"))],
        }
    )


def _write(value: Any) -> str:
    return json.dumps(value, indent=2) + "\n"


def _describe(kind: Resource) -> Manifest:
    return {
        "name": kind.qualified,
        "group": kind.group,
        "version": kind.version,
        "plural": kind.plural,
        "scaled": kind in SCALED,
    }


def _read_forms(rights: tuple[Right, ...]) -> list[Manifest]:
    """The rules of a kind's jobs, by what follows the plural."""
    forms = [
        [
            {"suffix": rule["resources"][0].removeprefix(kind.plural), "verbs": rule["verbs"]}
            for rule in build_rules(right for right in rights if right.resource == kind)
        ]
        for kind in KINDS
    ]
    assert all(each == forms[0] for each in forms), "the chart gives every kind of job the same rights"
    return forms[0]


def _without_jobs(kinds: set[Resource], *, datasets: bool = False) -> list[Right]:
    return [right for right in build_rights(kinds, datasets=datasets) if right.resource not in KINDS]


def _of_jobs(right: Right) -> bool:
    return right.where is Where.JOBS


def _read_scaling() -> list[Right]:
    plain = _without_jobs(set(KINDS) - set(SCALED))
    return [right for right in _without_jobs(set(KINDS)) if right not in plain]


def _without_name(rule: Manifest) -> Manifest:
    return {key: value for key, value in rule.items() if key != "resourceNames"}


def build_definition_files() -> dict[str, str]:
    """The `spec` of each definition, by the path of its file: JSON, which is a third of the YAML and is YAML too.
    deploy/v1 has what a person reads."""
    definitions = [*(build_crd(api) for api in KINDS.values()), build_dataset_crd()]
    return {
        f"files/crds/{name_of(each)}.json": json.dumps(each["spec"], separators=(",", ":")) + "\n"
        for each in definitions
    }
