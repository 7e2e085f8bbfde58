"""Who may what: reviews, tokens, impersonation, roles; warnings and validation of fields."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from apiserver.conformance.cases import (
    ACCOUNTS,
    CONFIG_MAPS,
    PODS,
    RBAC,
    Ask,
    Case,
    case,
    config,
    delete,
    get,
    home,
    newer,
    patch,
    pod,
    post,
    quietly,
)

_REVIEWS = "/apis/authorization.k8s.io/v1"
_API = "rbac.authorization.k8s.io"
_U = {"Impersonate_User": "user-@ns@"}
_ROLE = quietly(
    post(
        home("roles", RBAC),
        {
            "metadata": {"name": "r"},
            "rules": [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list", "create"]}],
        },
    ),
    post(
        home("rolebindings", RBAC),
        {
            "metadata": {"name": "b"},
            "roleRef": {"apiGroup": _API, "kind": "Role", "name": "r"},
            "subjects": [{"apiGroup": _API, "kind": "User", "name": "user-@ns@"}],
        },
    ),
    get(CONFIG_MAPS, until=200, **_U),  # a real server hears of a role a moment later
)
_MADE = (*_ROLE, *quietly(post(CONFIG_MAPS, config())))


def _self(
    name: str, attributes: Any = None, path: Any = None, *, user: bool = True, before: tuple[Ask, ...] = _ROLE
) -> Case:
    spec = {"resourceAttributes": attributes} if attributes else {"nonResourceAttributes": path}
    headers = _U if user else {}
    return case(
        name,
        *before,
        post(f"{_REVIEWS}/selfsubjectaccessreviews", {"spec": spec}, "status.allowed", "kind", "spec", **headers),
    )


def _asked(verb: str, resource: str = "configmaps", **fields: str) -> Any:
    return {"namespace": "@ns@", "verb": verb, "resource": resource, **fields}


def _role(name: str, *rules: Any, **headers: str) -> Case:
    return case(
        name, *_ROLE, post(home("roles", RBAC), {"metadata": {"name": "s"}, "rules": list(rules)}, "rules", **headers)
    )


_WRITER = quietly(
    post(
        home("roles", RBAC),
        {
            "metadata": {"name": "w"},
            "rules": [
                {"apiGroups": [_API], "resources": ["roles", "rolebindings"], "verbs": ["create", "update", "patch"]}
            ],
        },
    ),
    post(
        home("rolebindings", RBAC),
        {
            "metadata": {"name": "w"},
            "roleRef": {"apiGroup": _API, "kind": "Role", "name": "w"},
            "subjects": [{"apiGroup": _API, "kind": "User", "name": "user-@ns@"}],
        },
    ),
    replace(post(home("roles", RBAC) + "?dryRun=All", {"metadata": {"name": "t"}, "rules": []}, **_U), until=201),
)
_STRICT = "https://kubernetes.io/docs/reference/using-api/api-concepts/#field-validation"
_BAD = {**config(), "dota": {"a": "1"}}
_TOKENS = f"{ACCOUNTS}/a/token"
_ACCOUNT = quietly(post(ACCOUNTS, {"metadata": {"name": "a"}}))
_TR = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest"}


def _refused(message: str) -> Any:
    return {
        "status": 400,
        "body": {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "reason": "BadRequest",
            "code": 400,
            "message": message,
        },
    }


CASES = (
    _self("a user may what a role says", _asked("get")),
    _self("a user may nothing else", _asked("delete")),
    _self("a right is of one kind", _asked("get", "secrets")),
    _self("a right is of one group", _asked("get", group="apps")),
    _self("a right is not of subresources", _asked("get", subresource="status")),
    _self("a right in one namespace is none in all", {"verb": "get", "resource": "configmaps"}),
    _self("an administrator may everything", _asked("delete", "nothings", group="nowhere"), user=False, before=()),
    _self("everybody may read what is served", None, {"path": "/api", "verb": "get"}, before=()),
    _self("not everybody may read every path", None, {"path": "/metrics", "verb": "get"}, before=()),
    case("a review of nothing is refused", post(f"{_REVIEWS}/selfsubjectaccessreviews", {"spec": {}})),
    case(
        "a review of both is refused",
        post(
            f"{_REVIEWS}/selfsubjectaccessreviews",
            {"spec": {"resourceAttributes": _asked("get"), "nonResourceAttributes": {"path": "/a", "verb": "get"}}},
        ),
    ),
    case(
        "a review of another",
        *_ROLE,
        post(
            f"{_REVIEWS}/subjectaccessreviews",
            {"spec": {"user": "user-@ns@", "resourceAttributes": _asked("get")}},
            "status.allowed",
            "kind",
        ),
    ),
    case(
        "a review of nobody is refused",
        post(f"{_REVIEWS}/subjectaccessreviews", {"spec": {"resourceAttributes": _asked("get")}}),
    ),
    case(
        "a review in a namespace",
        *_ROLE,
        post(
            home("localsubjectaccessreviews", "authorization.k8s.io/v1"),
            {"spec": {"user": "user-@ns@", "resourceAttributes": _asked("get")}},
            "status.allowed",
            "kind",
        ),
    ),
    case(
        "a review of another namespace is refused",
        post(
            home("localsubjectaccessreviews", "authorization.k8s.io/v1"),
            {"spec": {"user": "u", "resourceAttributes": {"namespace": "default", "verb": "get", "resource": "pods"}}},
        ),
    ),
    case(
        "the rules of a user in a namespace",
        *_ROLE,
        post(
            f"{_REVIEWS}/selfsubjectrulesreviews",
            {"spec": {"namespace": "@ns@"}},
            "kind",
            "status.incomplete",
            "status.resourceRules[0].resources",
            **_U,
        ),
    ),
    case("the rules of no namespace are refused", post(f"{_REVIEWS}/selfsubjectrulesreviews", {"spec": {}})),
    case("a review is not read", get(f"{_REVIEWS}/selfsubjectaccessreviews")),
    case("what a user may not is forbidden", *_MADE, delete(f"{CONFIG_MAPS}/x").having(**_U)),
    case("what a user may is done", *_MADE, get(f"{CONFIG_MAPS}/x", "metadata.name", **_U)),
    case("a list that a user may not is forbidden", *_MADE, get("/api/v1/configmaps", **_U)),
    case("a watch needs its own right", *_MADE, get(f"{CONFIG_MAPS}?watch=1&timeoutSeconds=1", **_U)),
    case("what is not there is forbidden to whom may not ask", get(f"{PODS}/x", **_U)),
    case("a path that a user may not is forbidden", get("/metrics", **_U)),
    case(
        "an apply that creates needs the right to create",
        *_ROLE,
        patch(f"{CONFIG_MAPS}/n?fieldManager=a", config("n"), kind="application/apply-patch+yaml").having(**_U),
    ),
    case(
        "a group of a user is heard",
        *_MADE,
        get(f"{CONFIG_MAPS}/x", "metadata.name", Impersonate_User="nobody-@ns@", Impersonate_Group="system:masters"),
    ),
    case(
        "a user may not speak for others",
        *_MADE,
        Ask("GET", f"{CONFIG_MAPS}/x", headers={"Impersonate-Group": "system:masters"}),
    ),
    _role("an administrator grants anything", {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}),
    case(
        "who may not grant more than they have is refused",
        *_ROLE,
        *_WRITER,
        post(
            home("roles", RBAC),
            {"metadata": {"name": "s"}, "rules": [{"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]}]},
            **_U,
        ),
    ),
    case(
        "who has a right may grant it",
        *_ROLE,
        *_WRITER,
        post(
            home("roles", RBAC),
            {"metadata": {"name": "s"}, "rules": [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"]}]},
            "rules",
            **_U,
        ),
    ),
    case(
        "who may not bind a role with more rights is refused",
        *_ROLE,
        *_WRITER,
        post(
            home("rolebindings", RBAC),
            {
                "metadata": {"name": "s"},
                "roleRef": {"apiGroup": _API, "kind": "ClusterRole", "name": "cluster-admin"},
                "subjects": [],
            },
            **_U,
        ),
    ),
    case(
        "a token of an account",
        *_ACCOUNT,
        post(
            _TOKENS,
            {**_TR, "spec": {"audiences": ["a"], "expirationSeconds": 3600}},
            "kind",
            "spec.audiences",
            "spec.expirationSeconds",
        ),
    ),
    case(
        "a token has an hour by default",
        *_ACCOUNT,
        post(_TOKENS, {**_TR, "spec": {}}, "spec.expirationSeconds", "kind"),
    ),
    case(
        "a token of less than ten minutes is refused",
        *_ACCOUNT,
        post(_TOKENS, {**_TR, "spec": {"expirationSeconds": 60}}),
    ),
    case("a token of an account that is not there is not found", post(_TOKENS, {**_TR, "spec": {}})),
    case(
        "a token bound to a pod that is not there is not found",
        *_ACCOUNT,
        post(_TOKENS, {**_TR, "spec": {"boundObjectRef": {"kind": "Pod", "apiVersion": "v1", "name": "none"}}}),
    ),
    case(
        "a token's account may what its role says",
        *_ACCOUNT,
        *quietly(
            post(_TOKENS, {**_TR, "spec": {}}),
            post(
                home("roles", RBAC),
                {"metadata": {"name": "r"}, "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]}]},
            ),
            post(
                home("rolebindings", RBAC),
                {
                    "metadata": {"name": "b"},
                    "roleRef": {"apiGroup": _API, "kind": "Role", "name": "r"},
                    "subjects": [{"kind": "ServiceAccount", "name": "a", "namespace": "@ns@"}],
                },
            ),
            get(PODS, until=200, Authorization="Bearer @1.status.token@"),
        ),
        get(PODS, "kind", Authorization="Bearer @1.status.token@"),
        get(CONFIG_MAPS, Authorization="Bearer @1.status.token@"),
    ),
    case(
        "a token ends with its account",
        *_ACCOUNT,
        *quietly(post(_TOKENS, {**_TR, "spec": {}}), delete(f"{ACCOUNTS}/a")),
        get(PODS, until=401, Authorization="Bearer @1.status.token@"),
    ),
    case(
        "a token is reviewed",
        *_ACCOUNT,
        *quietly(post(_TOKENS, {**_TR, "spec": {}})),
        post(
            "/apis/authentication.k8s.io/v1/tokenreviews",
            {"spec": {"token": "@1.status.token@"}},
            "status.authenticated",
            "status.user.username",
            "status.user.groups",
        ),
    ),
    case(
        "a token that is none is reviewed as none",
        post(
            "/apis/authentication.k8s.io/v1/tokenreviews",
            {"spec": {"token": "nonsense"}},
            "status.authenticated",
            "status.user",
            "kind",
        ),
    ),
    case(
        "an unknown field is dropped without a word",
        post(f"{CONFIG_MAPS}?fieldValidation=Ignore", _BAD, "metadata.name", "dota"),
    ),
    newer(
        "strict validation refuses an unknown field",
        "1.25",
        _STRICT,
        (
            post(f"{CONFIG_MAPS}?fieldValidation=Strict", _BAD),
            _refused(
                'ConfigMap in version "v1" cannot be handled as a ConfigMap: strict decoding error: unknown '
                'field "dota"'
            ),
        ),
    ),
    newer(
        "an unknown field gives a warning",
        "1.25",
        _STRICT,
        (
            post(f"{CONFIG_MAPS}?fieldValidation=Warn", _BAD, "metadata.name"),
            {"status": 201, "body": {"metadata.name": "x"}, "warnings": ['299 - "unknown field \\"dota\\""']},
        ),
    ),
    newer(
        "an unknown field deep within gives a warning with its path",
        "1.25",
        _STRICT,
        (
            post(PODS, pod("x", {"name": "main", "image": "i:1", "imagee": "x"}), "metadata.name"),
            {
                "status": 201,
                "body": {"metadata.name": "x"},
                "warnings": ['299 - "unknown field \\"spec.containers[0].imagee\\""'],
            },
        ),
    ),
    newer(
        "strict validation refuses a field that comes twice",
        "1.25",
        _STRICT,
        (
            Ask(
                "POST",
                f"{CONFIG_MAPS}?fieldValidation=Strict",
                '{"metadata": {"name": "x"}, "data": {"a": "1"}, "data": {"a": "2"}}',
            ),
            _refused(
                'ConfigMap in version "v1" cannot be handled as a ConfigMap: strict decoding error: duplicate '
                'field "data"'
            ),
        ),
    ),
    newer(
        "an unknown validation of fields is refused",
        "1.25",
        _STRICT,
        (
            post(f"{CONFIG_MAPS}?fieldValidation=Maybe", config()),
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
                        'CreateOptions.meta.k8s.io "" is invalid: fieldValidation: Unsupported value: '
                        '"Maybe": supported values: "Ignore", "Strict", "Warn"'
                    ),
                    "details": {
                        "group": "meta.k8s.io",
                        "kind": "CreateOptions",
                        "causes": [
                            {
                                "field": "fieldValidation",
                                "reason": "FieldValueNotSupported",
                                "message": 'Unsupported value: "Maybe": supported values: "Ignore", "Strict", "Warn"',
                            }
                        ],
                    },
                },
            },
        ),
    ),
    newer(
        "who asks is told who they are",
        "1.28",
        "https://kubernetes.io/docs/reference/access-authn-authz/authentication/#self-subject-review",
        (
            post(
                "/apis/authentication.k8s.io/v1/selfsubjectreviews",
                {"kind": "SelfSubjectReview", "apiVersion": "authentication.k8s.io/v1"},
                "kind",
                "status.userInfo.username",
                **_U,
            ),
            {"status": 201, "body": {"kind": "SelfSubjectReview", "status.userInfo.username": "user-NS"}},
        ),
    ),
)
