"""Whether PaddlePaddle's launchers meet at an etcd of the user's own, by which they change the number of ranks.

Source: paddle/distributed/launch/controllers/master.py and collective.py (3.3.1): with any other master than `etcd://`
the number is fixed, and without `--elastic_level 1` all end when one is lost. PADDLE_ELASTIC_SERVER is read by the old
launcher alone (fleet/elastic/__init__.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from paddock.jobs.model import Role
from paddock.launches.containers import read_kept
from paddock.launches.launch import starts_old
from paddock.launches.launchers import OLD_PADDLE, PADDLE

_ETCD = "etcd://"


def meets_at_etcd(role: Role) -> bool:
    """Whether the containers of this role start PaddlePaddle's launcher with etcd as its master."""
    return any(_names_etcd(each) for each in _list_containers(role))


def survives_losses(role: Role) -> bool:
    """Whether launchers that meet at etcd go on when one of them is lost."""
    return any(
        _read_variables(each).get("PADDLE_ELASTIC_LEVEL") == "1" or "1" in _read_options(each, "elastic_level")
        for each in _list_containers(role)
    )


def _list_containers(role: Role) -> list[Mapping[str, Any]]:
    """The container that trains: of a role with many, an operator reads one."""
    spec = role.template.get("spec")
    containers = spec.get("containers") if isinstance(spec, Mapping) else None
    found = [each for each in (containers if isinstance(containers, list) else ()) if isinstance(each, Mapping)]
    return [*(each for each in found if each.get("name") == "paddle"), *found][:1]


def _names_etcd(container: Mapping[str, Any]) -> bool:
    """`--master etcd://…` in what it starts, or a variable that says the same to one of PaddlePaddle's launchers."""
    variables = _read_variables(container)
    if variables.get("PADDLE_MASTER", "").startswith(_ETCD):
        return True
    if variables.get("PADDLE_ELASTIC_SERVER") and not _starts_todays(container):
        return True
    return any(master.startswith(_ETCD) for master in _read_options(container, "master"))


def _starts_todays(container: Mapping[str, Any]) -> bool:
    """Whether it starts PaddlePaddle's launcher, and not the old one; False where that is not known."""
    launches = [each for each in read_kept(container).launches if each.launcher in (PADDLE, OLD_PADDLE)]
    return bool(launches) and not any(each.is_open or starts_old(each) for each in launches)


def _read_variables(container: Mapping[str, Any]) -> dict[str, str]:
    entries = container.get("env")
    mappings = [each for each in (entries if isinstance(entries, list) else ()) if isinstance(each, Mapping)]
    return {str(each.get("name")): str(each["value"]) for each in mappings if each.get("value")}


def _read_options(container: Mapping[str, Any], name: str) -> list[str]:
    """What is known of an option's values: `etcd://` of `etcd://$HOST:2379`."""
    texts = [container.get("command"), container.get("args")]
    if "etcd" not in str(texts) and "elastic" not in str(texts):
        return []  # few jobs have it, and an operator asks at each pass
    options = (launch.named(name) for launch in read_kept(container).launches)
    return [option.value.beginning for option in options if option is not None and option.value is not None]
