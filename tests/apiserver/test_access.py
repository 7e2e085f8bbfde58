"""Who may what, over HTTPS: tokens of service accounts, RBAC, impersonation, reviews."""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from apiserver.embedded import Http, pod, widget
from paddock.apiserver.access.token_requests import read_token_request
from paddock.apiserver.access.tokens import AUDIENCE, Tokens
from paddock.apiserver.access.users import account_user
from paddock.apiserver.http.files import write_private
from paddock.apiserver.http.server import Server
from paddock.apiserver.objects.access import Access
from paddock.apiserver.objects.in_process import LocalApi
from paddock.apiserver.objects.writes import Answer, WriteOptions
from paddock.kube import rbac
from paddock.kube.errors import Forbidden, NotFound
from paddock.kube.meta import CONFIG_MAPS, NAMESPACES, NODES, PODS, SERVICE_ACCOUNTS, Key, Manifest, uid_of

CORE = "/api/v1/namespaces/default"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
ROLES, BINDINGS = f"{RBAC}/namespaces/default/roles", f"{RBAC}/namespaces/default/rolebindings"
ACCOUNT = {"kind": "ServiceAccount", "name": "default", "namespace": "default"}
REVIEWS = "/apis/authorization.k8s.io/v1"


class Asker:
    """Asks with a token of the account `default`, or as somebody else."""

    def __init__(self, http: Http, token: str = "", **headers: str) -> None:
        self.http, self.token, self.headers = http, token, headers

    async def __call__(self, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, Any]:
        own = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        sent = own | {name.replace("_", "-"): value for name, value in (self.headers | headers).items()}
        status, answer, _ = await self.http.ask(method, path, body, headers=sent)
        return status, answer


async def make_token(http: Http, name: str = "default", **spec: Any) -> str:
    status, answer, _ = await http.ask("POST", f"{CORE}/serviceaccounts/{name}/token", {"spec": spec})
    assert status == 201, answer
    token: str = answer["status"]["token"]
    return token


@pytest.fixture
async def account(http: Http) -> Asker:
    return Asker(http, await make_token(http))


def rules(*verbs: str, resources: tuple[str, ...] = ("pods",), groups: tuple[str, ...] = ("",)) -> list[Manifest]:
    return [{"verbs": list(verbs), "apiGroups": list(groups), "resources": list(resources)}]


async def grant(http: Http, given: list[Manifest], subject: Manifest = ACCOUNT, name: str = "r") -> None:
    status, said, _ = await http.ask("POST", ROLES, {"metadata": {"name": name}, "rules": given})
    assert status == 201, said
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name}
    binding = {"metadata": {"name": name}, "roleRef": reference, "subjects": [subject]}
    status, said, _ = await http.ask("POST", BINDINGS, binding)
    assert status == 201, said


async def test_an_account_may_what_is_bound_to_it_and_nothing_else(http: Http, account: Asker) -> None:
    status, said = await account("GET", f"{CORE}/pods")
    assert (status, said["reason"], said["message"]) == (
        403, "Forbidden",
        'pods is forbidden: User "system:serviceaccount:default:default" cannot list resource "pods" in API group ""'
        ' in the namespace "default"',
    )  # fmt: skip
    await grant(http, rules("get", "list", "watch"))
    assert (await account("GET", f"{CORE}/pods"))[0] == 200
    assert (await account("GET", f"{CORE}/pods?watch=true&timeoutSeconds=1"))[0] == 200
    assert (await account("GET", "/api/v1/pods"))[0] == 403
    assert (await account("POST", f"{CORE}/pods", pod()))[0] == 403
    assert (await account("GET", f"{CORE}/secrets"))[0] == 403
    await http.ask("DELETE", f"{BINDINGS}/r")
    assert (await account("GET", f"{CORE}/pods"))[0] == 403


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/api", 200), ("GET", "/apis", 200), ("GET", "/api/v1", 200), ("GET", "/openapi/v3", 200),
        ("GET", "/version", 200), ("GET", "/healthz", 200), ("GET", "/metrics", 403), ("GET", "/paddock/x", 403),
        ("GET", "/apis/example.org/v1/widgets", 403), ("GET", "/apis/nobody.org/v1/things", 403),
        ("GET", "/apis/batch/v1/namespaces/default/jobs", 403), ("GET", "/apis/batch/v1/jobs", 403),
        ("DELETE", f"{CORE}/pods", 403), ("PATCH", f"{CORE}/pods/p", 403), ("GET", f"{CORE}/pods/p/log", 403),
        ("GET", f"{CORE}/pods/p/exec?command=ls&stdout=true", 403), ("POST", f"{CORE}/pods/p/exec", 403),
        ("GET", f"{CORE}/pods/p/exec?command=ls&stdout=true&watch=true", 403),
        ("POST", "/apis/authentication.k8s.io/v1/namespaces/default/tokenreviews", 403),
        ("GET", f"{CORE}/pods/p/stacks", 403), ("POST", f"{CORE}/serviceaccounts/default/token", 403),
        ("GET", "/api/v1/namespaces/default", 403), ("GET", "/api/v1/nodes", 403),
        ("POST", "/apis/authentication.k8s.io/v1/tokenreviews", 403), ("POST", f"{REVIEWS}/subjectaccessreviews", 403),
        ("POST", f"{REVIEWS}/namespaces/default/localsubjectaccessreviews", 403),
    ],
)  # fmt: skip
async def test_what_every_account_may(account: Asker, method: str, path: str, status: int) -> None:
    assert (await account(method, path))[0] == status


async def test_who_may_read_a_pod_may_not_enter_it(http: Http, account: Asker) -> None:
    await grant(http, rules("get", resources=("pods", "pods/exec")))
    status, said = await account("GET", f"{CORE}/pods/p/exec?command=ls&stdout=true")
    assert status == 403 and 'cannot create resource "pods/exec"' in said["message"]
    await grant(http, rules("create", resources=("pods/exec",)), name="enter")
    assert (await account("GET", f"{CORE}/pods/p/exec?command=ls&stdout=true"))[0] == 404


async def test_a_right_in_a_namespace_is_none_on_parts_of_the_cluster(
    http: Http, account: Asker, widgets: LocalApi
) -> None:
    """Its path would name a namespace, and an object of the cluster."""
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"}
    binding = {"metadata": {"name": "all"}, "roleRef": reference, "subjects": [ACCOUNT]}
    assert (await http.ask("POST", BINDINGS, binding))[0] == 201
    await widgets.create(NODES, {"metadata": {"name": "n"}})
    await widgets.create(NAMESPACES, {"metadata": {"name": "other"}})
    patch = {"status": {"phase": "Terminating"}}
    for inner in ("nodes/n/status", "namespaces/other/status"):
        for method, body in (("GET", None), ("PUT", patch), ("PATCH", patch)):
            asked = await account(method, f"{CORE}/{inner}", body, Content_Type="application/merge-patch+json")
            assert asked[0] == 404, (method, inner)
        assert (await account("GET", f"/api/v1/{inner}"))[0] == 403
        assert (await http.ask("GET", f"/api/v1/{inner}"))[0] == 200
    assert "status" not in await widgets.get(NODES, "", "n")
    assert (await http.ask("GET", "/api/v1/pods/p/status"))[0] == 404


async def test_who_may_read_a_status_does_not_watch_by_it(http: Http, account: Asker, widgets: LocalApi) -> None:
    await grant(http, rules("get", resources=("pods/status",)))
    await widgets.create(PODS, pod(namespace="default"))
    status, answer = await account("GET", f"{CORE}/pods/p/status?watch=true&timeoutSeconds=1")
    assert (status, answer["kind"]) == (200, "Pod")


async def test_no_watch_enters_a_pod(http: Http, account: Asker) -> None:
    await grant(http, rules("get", "list", "watch", resources=("*",)))
    for subresource in ("exec", "attach", "portforward"):
        path = f"{CORE}/pods/p/{subresource}?command=ls&stdout=true&ports=80&watch=true"
        status, said = await account("GET", path)
        assert status == 403 and f'cannot create resource "pods/{subresource}"' in said["message"]


async def test_a_name_in_the_query_is_no_name_of_what_is_created(http: Http, account: Asker) -> None:
    await grant(http, [{**rules("create", resources=("configmaps",))[0], "resourceNames": ["only"]}])
    for query in ("", "?fieldSelector=metadata.name%3Donly"):
        status, _ = await account("POST", f"{CORE}/configmaps{query}", {"metadata": {"name": "evil"}})
        assert status == 403


@pytest.mark.parametrize(
    ("path", "body", "field"),
    [
        ("rolebindings", {"subjects": [{"kind": "User", "name": "x", "apiGroup": "x"}]}, "subjects[0].apiGroup"),
        (
            "clusterroles",
            {"aggregationRule": {"clusterRoleSelectors": [{"matchExpressions": [{"key": "a", "operator": "Near"}]}]}},
            "aggregationRule.clusterRoleSelectors[0]",
        ),
    ],
)
async def test_what_is_no_role_and_no_binding_is_refused(http: Http, path: str, body: Manifest, field: str) -> None:
    namespaced = "" if path.startswith("cluster") else "namespaces/default/"
    whole = {"metadata": {"name": "x"}} | (
        {"roleRef": {"kind": "ClusterRole", "name": "view"}} if "binding" in path else {}
    )
    status, said, _ = await http.ask("POST", f"{RBAC}/{namespaced}{path}", whole | body)
    assert status == 422 and field in [cause["field"] for cause in said["details"]["causes"]], said


async def test_odd_reviews_are_refused_with_a_sentence(http: Http) -> None:
    attributes = {"verb": "get", "resource": "pods"}
    for path, spec in (
        (f"{REVIEWS}/subjectaccessreviews", {"groups": 5, "resourceAttributes": attributes}),
        (f"{REVIEWS}/subjectaccessreviews", {"groups": [5], "resourceAttributes": attributes}),
        (f"{REVIEWS}/subjectaccessreviews", {"groups": ["x"] * 1001, "resourceAttributes": attributes}),
        ("/apis/authentication.k8s.io/v1/tokenreviews", {"token": "x", "audiences": 5}),
        (
            f"{REVIEWS}/namespaces/default/localsubjectaccessreviews",
            {"user": "x", "nonResourceAttributes": {"verb": "get", "path": "/metrics"}},
        ),
    ):
        assert (await http.ask("POST", path, {"spec": spec}))[0] == 400, path
    for path in (
        "authentication.k8s.io/v1/namespaces/default/tokenreviews",
        "authorization.k8s.io/v1/localsubjectaccessreviews",
        "authentication.k8s.io/v1/selfsubjectreviews/x",
        "authentication.k8s.io/v1/selfsubjectreviews/x/status",
    ):
        assert (await http.ask("POST", f"/apis/{path}", {"spec": {}}))[0] == 404
    owner = {"spec": {"token": http.server.token}}
    _, answer, _ = await http.ask("POST", "/apis/authentication.k8s.io/v1/tokenreviews", owner)
    assert answer["status"]["user"]["username"] == "paddock"


async def test_a_list_of_one_name_is_one_of_that_object(http: Http, account: Asker) -> None:
    await grant(http, [{**rules("list", "watch")[0], "resourceNames": ["p"]}])
    assert (await account("GET", f"{CORE}/pods?fieldSelector=metadata.name%3Dp"))[0] == 200
    assert (await account("GET", f"{CORE}/pods?fieldSelector=metadata.name%3Dq"))[0] == 403
    assert (await account("GET", f"{CORE}/pods"))[0] == 403


async def test_who_applies_what_is_not_there_creates_it(http: Http, account: Asker) -> None:
    await grant(http, rules("patch", resources=("widgets",), groups=("example.org",)))
    path, kind = (
        "/apis/example.org/v1/namespaces/default/widgets/w?fieldManager=a&force=true",
        "application/apply-patch+yaml",
    )
    status, said = await account("PATCH", path, widget(), Content_Type=kind)
    assert status == 403 and 'cannot create resource "widgets"' in said["message"]
    await http.ask("POST", "/apis/example.org/v1/namespaces/default/widgets", widget())
    assert (await account("PATCH", path, widget(size=4), Content_Type=kind))[0] == 200


async def test_whether_an_apply_creates_is_decided_where_it_is_written(widgets: LocalApi) -> None:
    """The right is asked for in the transaction of the write: what was there before it does not matter."""
    served, asked = widgets.objects.served(CONFIG_MAPS), []

    def refuse() -> None:
        asked.append(1)
        raise Forbidden("no")

    options = WriteOptions(manager="me", check_creation=refuse)
    wanted = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"a": "b"}}
    place: dict[str, str] = {"namespace": "default", "name": "c"}
    with pytest.raises(Forbidden):
        await widgets.objects.apply(served, wanted, **place, options=options)
    assert asked == [1]
    assert not (await widgets.list(CONFIG_MAPS, "default", fields="metadata.name=c")).items
    await widgets.create(CONFIG_MAPS, wanted | {"data": {}}, namespace="default")
    await widgets.objects.apply(served, wanted, **place, options=options)
    assert (asked, (await widgets.get(CONFIG_MAPS, "default", "c"))["data"]) == ([1], {"a": "b"})


async def test_a_token_ends_with_its_account_and_with_its_pod(http: Http, account: Asker, widgets: LocalApi) -> None:
    made = await widgets.create(PODS, pod(namespace="default"))
    of_pod = Asker(http, await make_token(http, boundObjectRef={"kind": "Pod", "name": "p"}))
    assert (await of_pod("GET", "/api"))[0] == 200
    await widgets.delete(PODS, "default", "p")
    assert (await of_pod("GET", "/api"))[0] == 401
    again = await widgets.create(PODS, pod(namespace="default"))
    assert uid_of(again) != uid_of(made) and (await of_pod("GET", "/api"))[0] == 401
    assert (await account("GET", "/api"))[0] == 200
    await widgets.delete(SERVICE_ACCOUNTS, "default", "default")
    assert (await account("GET", "/api"))[0] == 401
    assert await widgets.get(SERVICE_ACCOUNTS, "default", "default")  # made again, as another one


@pytest.mark.parametrize("kind", ["pod", "account"])
async def test_no_finalizer_keeps_a_token(tmp_path: Path, kind: str) -> None:
    now = 1_800_000_000.0
    api = await LocalApi.open(tmp_path, clock=lambda: now)
    access = Access(api.objects, Tokens(tmp_path / "key", write_private, lambda: now), lambda _: False)
    held = {"name": "p", "namespace": "default", "finalizers": ["a.example/b"]}
    await api.create(SERVICE_ACCOUNTS, {"metadata": held})
    await api.create(PODS, pod() | {"metadata": held, "spec": pod()["spec"] | {"serviceAccountName": "p"}})
    wish = read_token_request({"spec": {"boundObjectRef": {"kind": "Pod", "name": "p"}}})
    token = access.make_token(Key("default", "p"), wish)["status"]["token"]
    await api.delete(PODS if kind == "pod" else SERVICE_ACCOUNTS, "default", "p")
    assert access.find_user(token) is not None
    now += 61
    assert access.find_user(token) is None
    await api.close()


async def test_a_token_for_somebody_else_is_none_here(http: Http) -> None:
    token = await make_token(http, audiences=["vault"])
    assert (await Asker(http, token)("GET", "/api"))[0] == 401
    review = "/apis/authentication.k8s.io/v1/tokenreviews"
    for audiences, known in (([], False), (["vault"], True), (["vault", "other"], True), (["other"], False)):
        spec = {"token": token, "audiences": audiences}
        _, answer, _ = await http.ask("POST", review, {"spec": spec})
        assert answer["status"]["authenticated"] is known, answer
    _, answer, _ = await http.ask("POST", review, {"spec": {"token": await make_token(http)}})
    assert answer["status"]["user"]["username"] == "system:serviceaccount:default:default"
    assert answer["status"]["audiences"] == [AUDIENCE]


async def test_a_token_is_of_an_account_that_there_is(http: Http, widgets: LocalApi) -> None:
    await widgets.create(PODS, pod(namespace="default"))
    await widgets.create(SERVICE_ACCOUNTS, {"metadata": {"name": "bob", "namespace": "default"}})
    for name, reference, status in (
        ("nobody", None, 404), ("default", {"kind": "Pod", "name": "q"}, 404),
        ("default", {"kind": "Pod", "name": "p", "uid": "another"}, 409), ("bob", {"kind": "Pod", "name": "p"}, 400),
        ("bob", None, 201),
    ):  # fmt: skip
        spec = {"boundObjectRef": reference} if reference else {}
        got, said, _ = await http.ask("POST", f"{CORE}/serviceaccounts/{name}/token", {"spec": spec})
        assert got == status, said


async def test_the_owner_speaks_for_others_and_nobody_else_does(http: Http, account: Asker) -> None:
    ann = Asker(http, Impersonate_User="ann", Impersonate_Group="dev")
    assert (await ann("GET", f"{CORE}/pods"))[0] == 403
    await grant(http, rules("list"), {"kind": "Group", "name": "dev", "apiGroup": "rbac.authorization.k8s.io"})
    assert (await ann("GET", f"{CORE}/pods"))[0] == 200
    status, said = await account("GET", f"{CORE}/pods", Impersonate_User="ann")
    assert status == 403 and 'cannot impersonate resource "users"' in said["message"]
    await grant(http, rules("impersonate", resources=("serviceaccounts",)), name="speak")
    other = {"Impersonate_User": "system:serviceaccount:default:bob"}
    assert (await account("GET", "/api", **other))[0] == 200
    masters = {**other, "Impersonate_Group": "system:masters"}
    assert (await account("GET", f"{CORE}/secrets", **masters))[0] == 403
    assert (await ann("GET", "/api", Impersonate_User=""))[0] == 400


async def ask_review(asker: Asker, plural: str, **spec: Any) -> Any:
    status, answer = await asker("POST", f"{REVIEWS}/{plural}", {"spec": spec})
    assert status == 201, answer
    return answer["status"]


async def test_reviews_say_what_is_true(http: Http, account: Asker) -> None:
    await grant(http, rules("list"))
    listing = {"verb": "list", "resource": "pods", "namespace": "default"}
    for attributes, allowed in (
        (listing, True),
        ({**listing, "verb": "get"}, False),
        ({**listing, "namespace": ""}, False),
    ):
        assert (await ask_review(account, "selfsubjectaccessreviews", resourceAttributes=attributes))[
            "allowed"
        ] is allowed
        owner = await ask_review(Asker(http), "selfsubjectaccessreviews", resourceAttributes=attributes)
        assert owner["allowed"] is True
    path = {"verb": "get", "path": "/version"}
    assert (await ask_review(account, "selfsubjectaccessreviews", nonResourceAttributes=path))["allowed"] is True
    user = "system:serviceaccount:default:default"
    other = await ask_review(Asker(http), "subjectaccessreviews", user=user, resourceAttributes=listing)
    assert other["allowed"] is True and other["reason"] == 'RBAC: allowed by RoleBinding "r/default" of Role "r"'
    local = "namespaces/default/localsubjectaccessreviews"
    assert (await ask_review(Asker(http), local, user=user, resourceAttributes=listing))["allowed"] is True
    found = await ask_review(account, "selfsubjectrulesreviews", namespace="default")
    assert rules("list")[0] in found["resourceRules"] and found["incomplete"] is False
    for plural, spec in (
        ("selfsubjectaccessreviews", {}), ("subjectaccessreviews", {"resourceAttributes": listing}),
        ("selfsubjectrulesreviews", {}), (local, {"user": user, "resourceAttributes": {**listing, "namespace": "x"}}),
    ):  # fmt: skip
        assert (await Asker(http)("POST", f"{REVIEWS}/{plural}", {"spec": spec}))[0] == 400


async def test_nobody_grants_what_they_do_not_hold(http: Http, account: Asker) -> None:
    """Who may write roles and bindings in a namespace: its admin."""
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "admin"}
    await http.ask("POST", BINDINGS, {"metadata": {"name": "a"}, "roleRef": reference, "subjects": [ACCOUNT]})
    own, more = {"metadata": {"name": "own"}, "rules": rules("list")}, rules("delete", resources=("nodes",))
    assert (await account("POST", ROLES, own))[0] == 201
    status, said = await account("POST", ROLES, {"metadata": {"name": "more"}, "rules": more})
    assert status == 403 and "attempting to grant RBAC permissions not currently held" in said["message"]
    assert (await account("PUT", f"{ROLES}/own", {"metadata": {"name": "own"}, "rules": more}))[0] == 403
    merge = {"Content_Type": "application/merge-patch+json"}
    assert (await account("PATCH", f"{ROLES}/own", {"rules": more}, **merge))[0] == 403
    apply = {"Content_Type": "application/apply-patch+yaml"}
    whole = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "own"}, "rules": more}
    assert (await account("PATCH", f"{ROLES}/own?fieldManager=a&force=true", whole, **apply))[0] == 403
    assert (await account("PATCH", f"{ROLES}/own", {"metadata": {"labels": {"a": "b"}}}, **merge))[0] == 200
    await http.ask("PUT", f"{ROLES}/own", {"metadata": {"name": "own"}, "rules": more})
    # What an update leaves as it was is granted by somebody else already; other roles take over rules by labels.
    assert (await account("PATCH", f"{ROLES}/own", {"metadata": {"annotations": {"a": "c"}}}, **merge))[0] == 200
    assert (await account("PATCH", f"{ROLES}/own", {"metadata": {"labels": {"a": "c"}}}, **merge))[0] == 403
    for name, status in (("view", 201), ("cluster-admin", 403), ("nobody", 404)):
        binding = {"metadata": {"name": f"b-{name}"}, "roleRef": {**reference, "name": name}, "subjects": [ACCOUNT]}
        assert (await account("POST", BINDINGS, binding))[0] == status, name


async def test_a_role_that_comes_in_the_same_turn_is_not_there_to_bind(widgets: LocalApi, server: Server) -> None:
    """All writes of a turn are one group: its rules are known when it is committed."""
    roles, bindings = map(widgets.objects.served, (rbac.ROLES, rbac.ROLE_BINDINGS))
    strong = {"metadata": {"name": "strong"}, "rules": rules("*", resources=("*",))}
    reference = rbac.write_role_reference("Role", "strong")
    binding = {"metadata": {"name": "mine"}, "roleRef": reference, "subjects": [ACCOUNT]}
    check = partial(server.access.check_grant, account_user(Key("default", "default")), "rolebindings")
    made = await asyncio.gather(
        widgets.objects.create(roles, strong, namespace="default"),
        widgets.objects.create(bindings, binding, namespace="default", options=WriteOptions(check=check)),
        return_exceptions=True,
    )
    assert [type(each) for each in made] == [Answer, NotFound]
    with pytest.raises(Forbidden, match="attempting to grant"):
        await widgets.objects.create(bindings, binding, namespace="default", options=WriteOptions(check=check))


async def test_each_namespace_has_an_account_and_the_certificate(widgets: LocalApi, server: Server) -> None:
    certificate = server.certificate_authority.read_text()
    widgets.objects.furnish_namespaces(certificate)
    await widgets.create(NAMESPACES, {"metadata": {"name": "team"}})
    for namespace in ("default", "team"):
        assert await widgets.get(SERVICE_ACCOUNTS, namespace, "default")
        found = await widgets.get(CONFIG_MAPS, namespace, "kube-root-ca.crt")
        assert found["data"] == {"ca.crt": certificate}
    await widgets.delete(CONFIG_MAPS, "team", "kube-root-ca.crt")
    assert await widgets.get(CONFIG_MAPS, "team", "kube-root-ca.crt")
    await widgets.delete(NAMESPACES, "", "team")


def evict(name: str = "p", **options: Any) -> Manifest:
    meta = {"name": name, "namespace": "default"}
    return {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": meta, "deleteOptions": options}


@pytest.mark.parametrize(
    ("path", "body", "status", "left"),
    [
        ("p", evict(), 201, 0), ("p", evict(gracePeriodSeconds=0), 201, 0), ("p", evict(dryRun=["All"]), 201, 1),
        ("p?dryRun=All", evict(), 201, 1), ("p", evict(preconditions={"uid": "another"}), 409, 1),
        ("p", evict("q"), 400, 1), ("q", evict("q"), 404, 1), ("p", [], 400, 1),
        ("p", evict(propagationPolicy="Later"), 422, 1),
    ],
)  # fmt: skip
async def test_an_eviction_deletes_its_pod(
    http: Http, widgets: LocalApi, path: str, body: Any, status: int, left: int
) -> None:
    await widgets.create(PODS, pod(namespace="default"))
    name, found, query = path.partition("?")
    got, said, _ = await http.ask("POST", f"{CORE}/pods/{name}/eviction{found}{query}", body)
    assert got == status, said
    kept = (await widgets.list(PODS)).items
    assert len(kept) == left
    assert not any((each.get("status") or {}).get("conditions") for each in kept), "it is not to end"


async def test_an_evicted_pod_says_so_while_it_ends(http: Http, widgets: LocalApi) -> None:
    made = await widgets.create(PODS, {**pod(namespace="default"), "spec": {**pod()["spec"], "nodeName": "here"}})
    options = {"preconditions": {name: made["metadata"][name] for name in ("uid", "resourceVersion")}}
    status, said, _ = await http.ask("POST", f"{CORE}/pods/p/eviction", evict(**options))
    assert status == 201, said
    (ending,) = (await widgets.list(PODS)).items
    assert ending["metadata"]["deletionTimestamp"]
    (told,) = ending["status"]["conditions"]
    assert (told["type"], told["status"], told["reason"]) == ("DisruptionTarget", "True", "EvictionByEvictionAPI")
    status, said, _ = await http.ask("POST", f"{CORE}/pods/p/eviction", evict(**options))
    assert status == 409, "its version is another one now"
