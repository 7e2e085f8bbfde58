"""Parses an HTTP request: path, query, Accept header, body. Pure; errors are `BadRequest` and similar ones.

Source of the path grammar and the parameters: the Kubernetes API concepts page and apiserver's RequestInfo. `handlers`
executes requests; `formats` encodes responses.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal

import msgspec
from multidict import MultiMapping

from paddock.apiserver.access.attributes import Attributes, find_verb
from paddock.apiserver.http import protobuf
from paddock.apiserver.http.density import check_density
from paddock.apiserver.http.pod_logs import LogOptions
from paddock.apiserver.http.yaml_bodies import read_yaml
from paddock.apiserver.objects.strategy import DeleteOptions
from paddock.apiserver.objects.worker import SMALL_STEPS
from paddock.apiserver.objects.writes import WriteOptions
from paddock.apiserver.schema import field_errors
from paddock.apiserver.schema.field_errors import explain
from paddock.apiserver.streaming.forwards import MOST_PORTS
from paddock.kube import schemas
from paddock.kube.budget import Budget, Exhausted
from paddock.kube.calls import PatchKind
from paddock.kube.errors import BadRequest, FieldCause, Invalid, NotAcceptable, TooLarge, UnsupportedMediaType
from paddock.kube.meta import Manifest
from paddock.kube.pod_streams import StreamRequest, read_port
from paddock.kube.selectors import read_fields
from paddock.kube.times import read_time
from paddock.kube.validation.structural import Reading
from paddock.kube.validation.values import type_of

PATCH_TYPES: Mapping[str, PatchKind | Literal["apply"]] = {
    "application/merge-patch+json": "merge",
    "application/strategic-merge-patch+json": "strategic",
    "application/json-patch+json": "json",
    "application/apply-patch+yaml": "apply",
}
_MOST_GRACE = 10**17
_MOST_ERRORS = 10
_NAMESPACE_SUBRESOURCES = ("status", "finalize")


@dataclass(frozen=True, slots=True)
class Target:
    """The target of a path: a collection (no `name`), an object, or a subresource of an object."""

    group: str
    version: str
    plural: str
    namespace: str = ""
    name: str = ""
    subresource: str = ""


def read_path(path: str) -> Target | None:
    """`/apis/GROUP/VERSION/namespaces/NS/PLURAL/NAME/SUBRESOURCE` and its shorter forms; None for any other path."""
    parts = [part for part in path.split("/") if part]
    if parts[:1] == ["api"] and len(parts) >= 3:
        group, version, rest = "", parts[1], parts[2:]
    elif parts[:1] == ["apis"] and len(parts) >= 4:
        group, version, rest = parts[1], parts[2], parts[3:]
    else:
        return None
    namespace = ""
    # /namespaces/NAME/status is a subresource of the namespace, not a collection of "status" in it.
    if rest[0] == "namespaces" and len(rest) > 2 and rest[2] not in _NAMESPACE_SUBRESOURCES:
        namespace, rest = rest[1], rest[2:]
    if len(rest) > 3:
        return None
    plural, name, subresource = [*rest, "", ""][:3]
    return Target(group, version, plural, namespace, name, subresource)


def read_attributes(method: str, path: str, query: Mapping[str, str]) -> Attributes:
    """What a request asks to do, for RBAC. A list or watch of one name is one of that object."""
    target = read_path(path)
    if target is None:
        return Attributes("get" if method == "HEAD" else method.lower(), path=path)
    name, watches = target.name, not target.subresource and read_flag(query, "watch")
    verb = find_verb(method, one=bool(name), watches=watches)
    if not name and verb in ("list", "watch"):
        with suppress(ValueError):
            terms = read_fields(query.get("fieldSelector", ""))
            name = next((value for field, equal, value in terms if field == "metadata.name" and equal), "")
    namespace = target.namespace
    if (target.group, target.plural) == ("", "namespaces") and not namespace:
        namespace = target.name  # as Kubernetes reads it: who may get a namespace may have that right in it
    return Attributes(verb, target.group, target.plural, target.subresource, namespace, name)


def read_flag(query: Mapping[str, str], name: str) -> bool:
    """A boolean as Go's ParseBool reads it; a bare `?watch` is true."""
    text = query.get(name)
    # kubernetes_asyncio sends Python's words, `watch=True`; Go's ParseBool accepts them too.
    if text is None or text in ("0", "f", "F", "false", "FALSE", "False"):
        return False
    if text in ("", "1", "t", "T", "true", "TRUE", "True"):
        return True
    raise BadRequest(f"{name}={text!r} in the query is neither true nor false")


def read_number(query: Mapping[str, str], name: str, lowest: int = 0) -> int | None:
    text = query.get(name)
    if not text:
        return None
    # A number of more than 18 digits may not fit SQLite's integers, which have 64 bits.
    if not re.fullmatch("-?[0-9]{1,18}", text) or int(text) < lowest:
        raise BadRequest(f"{name}={text!r} in the query is not a number of {lowest} or more, in 18 digits")
    return int(text)


def read_revision(query: Mapping[str, str]) -> int:
    """The requested resourceVersion; 0 if none: any state."""
    try:
        return read_number(query, "resourceVersion") or 0
    except BadRequest:
        sentence = f"Invalid value: {query['resourceVersion']!r}: resourceVersion is a number that the server gave"
        raise BadRequest(f"resourceVersion: {sentence}") from None


@dataclass(frozen=True, slots=True)
class WatchOptions:
    """What a watch asks for."""

    revision: int  # 0 starts with the current objects
    timeout: int | None  # in seconds; None: the server's limit
    bookmarks: bool
    initial_events: bool
    initial_events_end: bool


def read_watch(query: Mapping[str, str]) -> WatchOptions:
    revision = read_revision(query)
    wanted = query.get("sendInitialEvents")
    initial = read_flag(query, "sendInitialEvents")
    # The rules and the words are Kubernetes' own (apimachinery, validation of ListOptions).
    if wanted is not None and query.get("resourceVersionMatch") != "NotOlderThan":
        raise _forbidden(
            "resourceVersionMatch", "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"
        )
    if wanted is None and query.get("resourceVersionMatch"):
        raise _forbidden(
            "resourceVersionMatch", "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"
        )
    # Without a revision, or with 0, Kubernetes begins a watch with the current objects as ADDED.
    return WatchOptions(
        revision,
        read_number(query, "timeoutSeconds"),
        read_flag(query, "allowWatchBookmarks"),
        initial_events=initial or (wanted is None and revision == 0),
        initial_events_end=initial and read_flag(query, "allowWatchBookmarks"),
    )


def _forbidden(path: str, message: str) -> Invalid:
    return field_errors.invalid_options("ListOptions", field_errors.forbidden(path, message))


_MATCHES = ("Exact", "NotOlderThan")


def check_list_options(query: Mapping[str, str]) -> None:
    """Which resourceVersion a list may ask for, and how (apimachinery, ValidateListOptions)."""
    match, revision, token = (query.get(name) or "" for name in ("resourceVersionMatch", "resourceVersion", "continue"))
    if match:
        if not revision:
            raise _forbidden(
                "resourceVersionMatch", "resourceVersionMatch is forbidden unless resourceVersion is provided"
            )
        if token:
            raise _forbidden("resourceVersionMatch", "resourceVersionMatch is forbidden when continue is provided")
        if match not in _MATCHES:
            raise field_errors.invalid_options(
                "ListOptions", field_errors.not_supported("resourceVersionMatch", match, (*_MATCHES, ""))
            )
        if match == "Exact" and revision == "0":
            said = 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"'
            raise _forbidden("resourceVersionMatch", said)
    if token and revision not in ("", "0"):
        raise BadRequest("specifying resource version is not allowed when using continue")


_MOST_MANAGER = 128


def check_patch_options(query: Mapping[str, str], *, applies: bool) -> None:
    """Raises `Invalid` for an apply without a manager, and for `force` of anything else (meta/v1 PatchOptions)."""
    if applies and not query.get("fieldManager"):
        cause = field_errors.required("fieldManager", "is required for apply patch")
    elif not applies and "force" in query:
        cause = field_errors.forbidden("force", "may not be specified for non-apply patch")
    else:
        return
    raise field_errors.invalid_options("PatchOptions", cause)


_OPTIONS = {"POST": "CreateOptions", "PUT": "UpdateOptions", "PATCH": "PatchOptions", "DELETE": "DeleteOptions"}
_VALIDATIONS = ("Ignore", "Strict", "Warn")


def read_write_options(query: Mapping[str, str], agent: str = "", *, method: str = "POST") -> WriteOptions:
    """`agent`: the User-Agent, whose first word is the field manager of who names none. Raises `Invalid`."""
    causes = []
    validation = query.get("fieldValidation") or "Warn"
    if validation not in _VALIDATIONS:
        causes.append(field_errors.not_supported("fieldValidation", validation, _VALIDATIONS))
    dry_run = query.get("dryRun")
    if dry_run not in (None, "", "All"):
        causes.append(field_errors.not_supported("dryRun", [dry_run], ("All",)))
    named = "".join(filter(str.isprintable, agent.partition("/")[0][:_MOST_MANAGER]))  # nobody is refused for a name
    manager = query.get("fieldManager") or named or "unknown"
    if len(manager) > _MOST_MANAGER:
        causes.append(field_errors.too_long("fieldManager", _MOST_MANAGER))
    elif not manager.isprintable():
        causes.append(field_errors.invalid("fieldManager", manager, "has a character that is not printable"))
    if causes:
        raise field_errors.invalid_options(_OPTIONS[method], *causes)
    return WriteOptions(validation, dry_run == "All", manager)  # type: ignore[arg-type]


_PROPAGATIONS = ("Foreground", "Background", "Orphan")


def read_delete(query: Mapping[str, str], body: Any) -> tuple[DeleteOptions, bool]:
    """DeleteOptions from body and query (the query wins), and whether the request is a dry run."""
    given = _read_delete_body({} if body is None else body)
    propagation: Any = query.get("propagationPolicy") or given.get("propagationPolicy")
    if propagation not in (None, "", *_PROPAGATIONS):
        cause = field_errors.not_supported("propagationPolicy", propagation, _PROPAGATIONS)
        raise field_errors.invalid_options("DeleteOptions", cause)
    # orphanDependents is the deprecated predecessor of propagationPolicy.
    orphans = query.get("orphanDependents", given.get("orphanDependents"))
    if propagation and orphans is not None:
        detail = "orphanDependents and deletionPropagation cannot be both set"
        raise field_errors.invalid_options(
            "DeleteOptions", field_errors.invalid("propagationPolicy", propagation, detail)
        )
    if orphans is not None:
        propagation = "Orphan" if str(orphans).lower() in ("true", "1") else "Background"
    grace = read_number(query, "gracePeriodSeconds", -_MOST_GRACE)
    preconditions = given.get("preconditions") or {}
    options = DeleteOptions(
        preconditions.get("uid") or "",
        preconditions.get("resourceVersion") or "",
        given.get("gracePeriodSeconds") if grace is None else grace,
        propagation or None,
    )
    if any(name != "All" for name in given.get("dryRun") or ()):
        cause = field_errors.not_supported("dryRun", given["dryRun"], ("All",))
        raise field_errors.invalid_options("DeleteOptions", cause)
    return options, bool(given.get("dryRun")) or read_write_options(query, method="DELETE").dry_run


def read_eviction(body: Any, name: str) -> Any:
    """The DeleteOptions of an Eviction of the pod `name`. Raises `BadRequest` for one of another."""
    if not isinstance(body, Mapping):
        raise BadRequest(f"the body is an Eviction: found {type_of(body)}")
    meta = body.get("metadata")
    named = meta.get("name") if isinstance(meta, Mapping) else None
    if named not in (None, "", name):
        raise BadRequest(f"name in URL does not match name in Eviction object: {named!r:.100}, and not {name!r}")
    return body.get("deleteOptions") or {}


def _read_delete_body(body: Any) -> Mapping[str, Any]:
    """The body of a DELETE, whose fields have the right types."""
    if not isinstance(body, Mapping):
        raise BadRequest(f"the body of a DELETE is a DeleteOptions object: found {type_of(body)}")
    reading = Reading(lenient=True, budget=Budget(SMALL_STEPS))
    try:
        read: Mapping[str, Any] = reading.read(body, schemas.definition("DeleteOptions"))
    except Exhausted:
        raise TooLarge("Request entity too large: the body of a DELETE is longer than DeleteOptions can be") from None
    if reading.errors:
        found = ", ".join(f"{cause.field}: {cause.message}" for cause in explain(reading.errors[:_MOST_ERRORS]))
        raise BadRequest(f"the body is not DeleteOptions: {found}")
    if read.get("kind") not in (None, "", "DeleteOptions"):
        raise BadRequest(f"the body of a DELETE is a DeleteOptions object: found a {read['kind']:.100}")
    return read


def read_log_options(query: Mapping[str, str], pod: Manifest, now: float) -> LogOptions:
    """The options of GET pods/NAME/log. The container is the named one, or the only one, as in Kubernetes."""
    since: float | None = read_number(query, "sinceSeconds", 1)
    if time := query.get("sinceTime"):
        moment = read_time(time)
        if moment is None:
            raise BadRequest(f"sinceTime={time!r} in the query is no time such as 2026-11-20T08:12:00Z")
        if since is not None:
            said = "at most one of `sinceTime` or `sinceSeconds` may be specified"
            raise Invalid(
                f'PodLogOptions "" is invalid: []: Forbidden: {said}',
                causes=[FieldCause("", f"Forbidden: {said}", "FieldValueForbidden")], kind="PodLogOptions",
            )  # fmt: skip
        since = now - moment
    return LogOptions(
        container=_choose_container(query.get("container") or "", pod),
        follow=read_flag(query, "follow"),
        previous=read_flag(query, "previous"),
        timestamps=read_flag(query, "timestamps"),
        tail_lines=read_number(query, "tailLines"),
        since_seconds=since,
        limit_bytes=read_number(query, "limitBytes", 1),
    )


def read_stream_request(query: MultiMapping[str], pod: Manifest, *, command: bool) -> StreamRequest:
    """The query of pods/NAME/exec (`command`) and of pods/NAME/attach. The sentences are a kubelet's."""
    words = tuple(query.getall("command", ()))
    if command and not words:
        raise BadRequest("you must specify at least 1 command for the container")
    asked = StreamRequest(
        container=_choose_container(query["container"], pod) if query.get("container") else "",
        command=words if command else (),
        stdin=read_flag(query, "stdin"),
        stdout=read_flag(query, "stdout"),
        stderr=read_flag(query, "stderr"),
        tty=read_flag(query, "tty"),
    )
    if not (asked.stdin or asked.stdout or asked.stderr):
        raise BadRequest("you must specify at least 1 of stdin, stdout, stderr")
    return asked


def read_ports(query: MultiMapping[str]) -> tuple[int, ...]:
    """The query of pods/NAME/portforward: `ports=80&ports=81`, `ports=80,81`, or none."""
    words = [word for value in query.getall("ports", ()) for word in value.split(",")]
    if len(words) > MOST_PORTS:
        raise BadRequest(f"{len(words)} ports are asked for, of {MOST_PORTS} that one request can have")
    return tuple(_read_port(word) for word in words)


def _read_port(text: str) -> int:
    port = read_port(text)
    if port is None:
        raise BadRequest(f"invalid port {text[:100]!r} in the query: a port is a number from 1 to 65535")
    return port


def _choose_container(wanted: str, pod: Manifest) -> str:
    spec, name = pod.get("spec") or {}, pod["metadata"]["name"]
    containers = [str(container.get("name")) for container in spec.get("containers") or ()]
    init = [str(container.get("name")) for container in spec.get("initContainers") or ()]
    if wanted in (*containers, *init) and wanted:
        return wanted
    if wanted:
        raise BadRequest(f"container {wanted} is not valid for pod {name}: it has {', '.join([*containers, *init])}")
    if len(containers) == 1:
        return containers[0]
    sentence = f"a container name must be specified for pod {name}, choose one of: [{' '.join(containers)}]"
    raise BadRequest(sentence + (f" or one of the init containers: [{' '.join(init)}]" if init else ""))


# Accept


@dataclass(frozen=True, slots=True)
class Format:
    """The requested response format. `shape`: the object, a Table, its metadata only, or a discovery document."""

    shape: Literal["object", "Table", "PartialObjectMetadata", "APIGroupDiscoveryList"] = "object"
    version: str = "v1"
    include: str = "Metadata"


def read_accept(accept: str, query: Mapping[str, str]) -> Format:
    """The first supported format of the Accept header; plain JSON is always supported. Raises `NotAcceptable`."""
    for part in (accept or "*/*").split(","):
        media, *parameters = (piece.strip() for piece in part.split(";"))
        # kubectl also lists forms that are not served, such as Protobuf and v2beta1; plain JSON is its last choice.
        if media not in ("application/json", "application/*", "*/*"):
            continue
        given = dict(parameter.split("=", 1) for parameter in parameters if "=" in parameter)
        shape = given.get("as", "").removesuffix("List") if given.get("as") != "APIGroupDiscoveryList" else given["as"]
        if not shape:
            return Format()
        group, version = given.get("g", ""), given.get("v", "v1")
        if shape in ("Table", "PartialObjectMetadata") and group == "meta.k8s.io" and version in ("v1", "v1beta1"):
            return Format(shape, version, query.get("includeObject") or "Metadata")  # type: ignore[arg-type]
        if shape == "APIGroupDiscoveryList" and group == "apidiscovery.k8s.io" and version == "v2":
            return Format("APIGroupDiscoveryList", version)
    raise NotAcceptable("only the following media types are accepted: application/json")


# Bodies


_WEIGHTS = {"application/yaml": 32, "application/apply-patch+yaml": 32, protobuf.MEDIA_TYPE: 4}


def weigh_body(body: bytes, content_type: str | None) -> int:
    """The bytes of JSON that take as long to read as this body."""
    return len(body) * _WEIGHTS.get(_read_media(content_type), 1)


def _read_media(content_type: str | None) -> str:
    # No Content-Type means JSON, as in Kubernetes: Python's official client sends none when it creates objects.
    return (content_type or "application/json").split(";")[0].strip().lower()


def is_protobuf(content_type: str | None) -> bool:
    return _read_media(content_type) == protobuf.MEDIA_TYPE


def read_body(body: bytes, content_type: str | None, *, duplicates: bool = False) -> tuple[Any, tuple[str, ...]]:
    """The body as JSON values; with `duplicates`, also a message for each duplicate field.

    `UnsupportedMediaType` names the supported types.
    """
    media = _read_media(content_type)
    if is_protobuf(content_type):
        return protobuf.decode_body(body), ()
    if media in ("application/yaml", "application/apply-patch+yaml"):
        return read_yaml(body), ()
    if media != "application/json" and not media.endswith("-patch+json"):
        raise UnsupportedMediaType(
            f"the body of the request was in an unknown format, {media}:"
            " accepted are application/json, application/yaml"
        )
    check_density(body)
    # First: what is read for it is given back before the values are made.
    found = _find_duplicates(body) if duplicates else ()
    return _read_json(body), found


def _read_json(body: bytes) -> Any:
    try:
        return msgspec.json.decode(body)
    except (msgspec.MsgspecError, ValueError) as error:
        raise BadRequest(f"the body is not JSON: {error}") from None
    except RecursionError:
        raise BadRequest("the body nests too deeply") from None


def _find_duplicates(body: bytes) -> tuple[str, ...]:
    found: dict[str, None] = {}

    def look(pairs: list[tuple[str, Any]]) -> None:
        seen: set[str] = set()
        for name, _ in pairs:
            if name in seen:
                found[f'duplicate field "{name}"'] = None
            seen.add(name)

    # msgspec silently keeps the last of two fields of one name, so the body is read a second time.
    try:
        json.loads(body, object_pairs_hook=look)
    except (ValueError, RecursionError):
        # `_read_json` has already reported the error.
        return ()
    return tuple(found)
