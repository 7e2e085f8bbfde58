"""Without a sandbox with mounts: files of ConfigMaps in which a pod of the group stands as a host. Pure.

Names in the environment and in the command become addresses (`node.runtime.hosts`); a file stays as it is, and its
program looks the name up in vain, often for minutes. Only what is surely a host is told: a name with a port, or with
its namespace.
"""

from __future__ import annotations

from collections.abc import Mapping

from paddock.kube.host_words import find_sure_hosts
from paddock.kube.meta import Manifest
from paddock.node.runtime.container_env import Configs, ContainerWaiting
from paddock.node.runtime.mounts import read_files
from paddock.words.phrases import phrase


def explain_unreplaced(pod: Manifest, container: Manifest, configs: Configs, addresses: Mapping[str, str]) -> str:
    """A warning about the first such file that the container mounts; '' without one."""
    mounted = {mount["name"] for mount in container.get("volumeMounts") or ()}
    for volume in pod["spec"].get("volumes") or ():
        sources = (volume.get("projected") or {}).get("sources") or (volume,)
        for source in sources if volume["name"] in mounted else ():
            if (named := source.get("configMap")) is None:
                continue
            try:
                files = read_files({"configMap": named}, pod, configs) or {}
            except ContainerWaiting:  # its own start says it
                continue
            for path, content in files.items():
                if names := find_sure_hosts(content.decode(errors="replace"), addresses):
                    return _explain(path, str(named.get("name")), sorted(names))
    return ""


def _explain(path: str, config_map: str, names: list[str]) -> str:
    said = phrase(
        "file {path} of ConfigMap {name} names {names}, and without bubblewrap no program of this machine can look "
        "that up: install bubblewrap, or give the name in env, command or args, where it becomes an address",
        path=path, name=config_map, names=", ".join(names[:3]),
    )  # fmt: skip
    return str(said)
