"""The rules of probes, of hooks, and of what an init container may have of both.

Source: Kubernetes' validateProbe, validateHandler, validateLifecycle, validateInitContainers. Values of a wrong type
are ignored: the schema's check reports them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from paddock.kube.side_cars import ALWAYS, is_side_car
from paddock.kube.validation.field_errors import Code, FieldError, Path

PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
HOOKS = ("postStart", "preStop")
_NUMBERS = ("initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold")
PROBE_HANDLERS = ("exec", "httpGet", "tcpSocket", "grpc")
HOOK_HANDLERS = ("exec", "httpGet", "tcpSocket", "sleep")
SCHEMES = ("HTTP", "HTTPS")
_GRACE = "terminationGracePeriodSeconds"


def check_cares(container: Mapping[str, Any], path: Path, *, init: bool, grace: Any = None) -> Iterator[FieldError]:
    """The probes, the hooks and, of an init container, the restartPolicy. `grace`: the pod's, in seconds."""
    policy = container.get("restartPolicy")
    if init and isinstance(policy, str) and policy and policy != ALWAYS:
        yield FieldError(Code.NOT_SUPPORTED, (*path, "restartPolicy"), policy, {"allowed": (ALWAYS,)})
    barred = init and not is_side_car(container)
    for field in ("lifecycle", *PROBES):
        found = container.get(field)
        if not isinstance(found, Mapping):
            continue
        if barred:
            yield FieldError(Code.NOT_OF_INIT, (*path, field), found)
        elif field == "lifecycle":
            yield from _check_hooks(found, (*path, field), grace)
        else:
            yield from _check_probe(field, found, (*path, field))


def _check_probe(field: str, probe: Mapping[str, Any], path: Path) -> Iterator[FieldError]:
    yield from _check_handler(probe, path, PROBE_HANDLERS)
    for name in _NUMBERS:
        if (number := _number(probe.get(name))) is not None and number < 0:
            yield FieldError(Code.NEGATIVE, (*path, name), number)
    successes, grace = _number(probe.get("successThreshold")), _number(probe.get(_GRACE))
    # 0 is the default, which is 1.
    if field != "readinessProbe" and successes is not None and successes > 1:
        yield FieldError(Code.NOT_ONE, (*path, "successThreshold"), successes)
    if grace is None:
        return
    if field == "readinessProbe":
        yield FieldError(Code.NOT_OF_READINESS, (*path, _GRACE), grace)
    elif grace < 1:
        yield FieldError(Code.NOT_POSITIVE, (*path, _GRACE), grace)


def _check_hooks(lifecycle: Mapping[str, Any], path: Path, grace: Any) -> Iterator[FieldError]:
    for name in HOOKS:
        hook = lifecycle.get(name)
        if not isinstance(hook, Mapping):
            continue
        yield from _check_handler(hook, (*path, name), HOOK_HANDLERS)
        sleep = hook.get("sleep")
        seconds, most = _number(sleep.get("seconds")) if isinstance(sleep, Mapping) else None, _number(grace)
        if seconds is not None and not 0 <= seconds <= (30 if most is None else most):
            args = {"most": 30 if most is None else most}
            yield FieldError(Code.SLEEP_TOO_LONG, (*path, name, "sleep"), seconds, args)


def _check_handler(holder: Mapping[str, Any], path: Path, known: tuple[str, ...]) -> Iterator[FieldError]:
    given = [name for name in known if isinstance(holder.get(name), Mapping)]
    if not given and not any(holder.get(name) is not None for name in known):
        yield FieldError(Code.NO_HANDLER, path, args={"known": known})
    for name in given[1:]:
        yield FieldError(Code.SECOND_HANDLER, (*path, name), holder[name], {"first": given[0]})
    for name in given[:1]:
        action, where = holder[name], (*path, name)
        if name == "exec" and not action.get("command"):
            yield FieldError(Code.REQUIRED, (*where, "command"))
        elif name in ("httpGet", "tcpSocket"):
            yield from _check_port(action.get("port"), (*where, "port"))
        scheme = action.get("scheme")
        if name == "httpGet" and isinstance(scheme, str) and scheme and scheme not in SCHEMES:
            yield FieldError(Code.NOT_SUPPORTED, (*where, "scheme"), scheme, {"allowed": SCHEMES})


def _check_port(port: Any, path: Path) -> Iterator[FieldError]:
    digits = isinstance(port, str) and port.isascii() and port.isdecimal()
    number = (int(port) if len(port) < 10 else 65_536) if digits else _number(port)
    if port in (None, ""):
        yield FieldError(Code.REQUIRED, path)
    elif number is not None and not 0 < number < 65_536:
        yield FieldError(Code.OUT_OF_RANGE, path, port, {"low": 1, "high": 65_535})


def _number(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
