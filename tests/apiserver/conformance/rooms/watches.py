"""Watches: where they begin, what they tell, how they end."""

from __future__ import annotations

from apiserver.conformance.cases import (
    CONFIG_MAPS,
    PARTIAL,
    PODS,
    TABLE,
    WIDGETS,
    case,
    config,
    delete,
    get,
    newer,
    patch,
    pod,
    post,
    quietly,
    watch,
    widget,
    widgets,
)

_ONE = f"{CONFIG_MAPS}/x"
_MADE = quietly(post(CONFIG_MAPS, config(labels={"k": "1"})))
_ANEW = quietly(get(CONFIG_MAPS))
_FROM = "fieldSelector=metadata.name%3Dx&resourceVersion=@0.metadata.resourceVersion@"
_NAMED = "fieldSelector=metadata.name%3Dx"
_SEE = ("type", "object.metadata.name")
_VALUE = (*_SEE, "object.data")
_CHANGED = quietly(patch(_ONE, {"data": {"a": "1"}}))
_GONE = quietly(delete(_ONE))
_STREAM = "https://kubernetes.io/docs/reference/using-api/api-concepts/#streaming-lists"

CASES = (
    case("a watch without a version begins with what is there", *_MADE, watch(CONFIG_MAPS, _NAMED, 1, *_SEE)),
    case(
        "a watch of version 0 begins with what is there",
        *_MADE,
        watch(CONFIG_MAPS, f"{_NAMED}&resourceVersion=0", 1, *_SEE),
    ),
    case(
        "a watch from a version tells what came after", *_ANEW, *_MADE, *_CHANGED, watch(CONFIG_MAPS, _FROM, 2, *_VALUE)
    ),
    case(
        "a watch tells of a deletion with the last state",
        *_ANEW,
        *_MADE,
        *_CHANGED,
        *_GONE,
        watch(CONFIG_MAPS, _FROM, 3, *_VALUE),
    ),
    case("a watch of a version that is there tells nothing", *_MADE, watch(CONFIG_MAPS, _FROM)),
    case("a watch ends when its time is over", watch(CONFIG_MAPS, "fieldSelector=metadata.name%3Dnone")),
    case(
        "a watch of one object is a watch of its name",
        *_MADE,
        *quietly(post(CONFIG_MAPS, config("y"))),
        watch(_ONE, "", 1, *_SEE),
    ),
    case(
        "a watch by labels tells the selected",
        *quietly(post(CONFIG_MAPS, config("y"))),
        *_MADE,
        watch(CONFIG_MAPS, "labelSelector=k%3D1", 1, *_SEE),
    ),
    case(
        "an object that leaves the selection is told as deleted",
        *_MADE,
        *quietly(patch(_ONE, {"metadata": {"labels": {"k": "2"}}})),
        watch(
            CONFIG_MAPS,
            "labelSelector=k%3D1&resourceVersion=@0.metadata.resourceVersion@",
            1,
            *_SEE,
            "object.metadata.labels",
        ),
    ),
    case(
        "an object that comes into the selection is told as added",
        *_MADE,
        *quietly(patch(_ONE, {"metadata": {"labels": {"k": "2"}}})),
        watch(
            CONFIG_MAPS,
            "labelSelector=k%3D2&resourceVersion=@0.metadata.resourceVersion@",
            1,
            *_SEE,
            "object.metadata.labels",
        ),
    ),
    case("a watch with a wrong label selector is refused", watch(CONFIG_MAPS, "labelSelector=a%3D%3D%3Db")),
    case("a watch with an unknown field selector is refused", watch(CONFIG_MAPS, "fieldSelector=data.a%3Db")),
    case("a watch of a version that is no number is refused", watch(CONFIG_MAPS, "resourceVersion=abc")),
    case("a watch of a negative version is refused", watch(CONFIG_MAPS, "resourceVersion=-1")),
    case("a watch of a version that does not exist yet", watch(CONFIG_MAPS, "resourceVersion=99999999999")),
    case("a watch of an unknown kind is not found", watch("/api/v1/namespaces/@ns@/nothings")),
    case("a match of versions is not of a watch", watch(CONFIG_MAPS, "resourceVersion=1&resourceVersionMatch=Exact")),
    case("a time-out that is no number is refused", get(f"{CONFIG_MAPS}?watch=1&timeoutSeconds=soon")),
    case(
        "the old path of watches", *_MADE, get("/api/v1/watch/namespaces/@ns@/configmaps/x?timeoutSeconds=1", "nothing")
    ),
    case(
        "a watch of a custom kind",
        *widgets(),
        *quietly(post(WIDGETS, widget(spec={"size": 4}))),
        watch(WIDGETS, "", 1, *_SEE, "object.spec"),
    ),
    case(
        "a watch of a pod by its phase",
        *quietly(post(PODS, pod())),
        watch(PODS, "fieldSelector=status.phase%3DPending", 1, *_SEE),
    ),
    case(
        "a watch of a pod by its node",
        *quietly(post(PODS, pod(nodeName="nowhere"))),
        watch(PODS, "fieldSelector=spec.nodeName%3Dnowhere", 1, *_SEE),
    ),
    case(
        "a watch as a table has its columns once",
        *_MADE,
        *quietly(post(CONFIG_MAPS, config("y", labels={"k": "1"}))),
        watch(
            CONFIG_MAPS,
            "labelSelector=k%3D1",
            2,
            "type",
            "object.kind",
            "object.columnDefinitions[*].name",  # which object is the first is anybody's guess
            **TABLE,
        ),
    ),
    case(
        "a watch of metadata alone",
        *_MADE,
        watch(
            CONFIG_MAPS,
            _NAMED,
            1,
            "type",
            "object.kind",
            "object.apiVersion",
            "object.metadata.name",
            "object.data",
            **PARTIAL,
        ),
    ),
    case(
        "the words of Python are read as true",
        *_MADE,
        get(f"{CONFIG_MAPS}?watch=True&timeoutSeconds=1&{_NAMED}", "nothing"),
    ),
    case("a watch that is false is a list", *_MADE, get(f"{CONFIG_MAPS}?watch=false", "kind")),
    case("a watch that is neither true nor false is refused", get(f"{CONFIG_MAPS}?watch=maybe&timeoutSeconds=1")),
    newer(
        "a watch may begin with what is there, and marks its end",
        "1.27",
        _STREAM,
        (post(CONFIG_MAPS, config()), None),
        (
            watch(
                CONFIG_MAPS,
                f"{_NAMED}&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true",
                2,
                "type",
                "object.metadata.name",
                "object.metadata.annotations",
            ),
            {
                "status": 200,
                "events": [
                    {"type": "ADDED", "object.metadata.name": "x", "object.metadata.annotations": []},
                    {
                        "type": "BOOKMARK",
                        "object.metadata.name": [],
                        "object.metadata.annotations": {"k8s.io/initial-events-end": "true"},
                    },
                ],
            },
        ),
    ),
    newer(
        "what is there at the beginning needs a match of versions",
        "1.27",
        _STREAM,
        (
            watch(CONFIG_MAPS, "sendInitialEvents=true&allowWatchBookmarks=true"),
            {
                "status": 422,
                "body": {
                    "kind": "Status",
                    "apiVersion": "v1",
                    "metadata": {},
                    "status": "Failure",
                    "code": 422,
                    "reason": "Invalid",
                    "message": (
                        'ListOptions.meta.k8s.io "" is invalid: resourceVersionMatch: Forbidden: '
                        "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"
                    ),
                    "details": {
                        "group": "meta.k8s.io",
                        "kind": "ListOptions",
                        "causes": [
                            {
                                "field": "resourceVersionMatch",
                                "reason": "FieldValueForbidden",
                                "message": (
                                    "Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"
                                ),
                            }
                        ],
                    },
                },
            },
        ),
    ),
)
