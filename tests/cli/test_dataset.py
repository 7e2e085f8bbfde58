"""`paddock dataset`: what is refused before anything is sent, and every verb of it against a real local cluster."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from functools import partial
from hashlib import sha256
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import psutil
import pytest

from e2e.commands import Cluster, open_cluster, until
from e2e.manifests import build_light_job
from paddock.cli.main import run
from paddock.cli.output.dataset_rows import build_lines
from paddock.datasets.crd import build_crd
from paddock.datasets.manifests import Asked, build_manifest, find_problems

URI = "https://example.com/words.txt"


@pytest.mark.parametrize(
    ("change", "field", "said"),
    [
        ({"name": "Words"}, "name", "'Words' is not a valid name for a dataset: small letters, digits, '-' and '.'"),
        ({"name": "w" * 250}, "name", "the name has 250 characters; 245 are allowed"),
        ({"uri": "words"}, "uri", 'found "words", which begins with no scheme: allowed: https://'),
        ({"uri": "/data/words"}, "uri", "a directory of this machine is file:///data/words"),
        ({"uri": "oss://b/p"}, "uri", "write s3://b/p and the endpoint that speaks S3"),
        ({"uri": "https://example.com/"}, "uri", "which names no file"),
        ({"sha256": "abc"}, "sha256", "a SHA-256 checksum has 64 hexadecimal digits, and 3 were found"),
        ({"uri": "s3://bucket/x", "sha256": "0" * 64}, "sha256", "sha256 means nothing for s3://bucket/x"),
        ({"revision": "v1"}, "revision", "revision means nothing for https://example.com/words.txt"),
        ({"uri": "s3://bucket/x", "endpoint": "oss.example"}, "endpoint", "an endpoint begins with https://"),
        ({"uri": "s3://bucket/x", "endpoint": "http://a:hush@oss"}, "endpoint", 'an endpoint has no "@"'),
        ({"uri": "file:///data", "secret": "s"}, "secret", "secret means nothing for file:///data"),
        ({"size": "much"}, "size", "'much' is no size: write 50Gi"),
        ({"size": "0"}, "size", "'0' is no size: write 50Gi"),
        ({"secret": "my keys"}, "secret", "'my keys' is not a valid name for a Secret"),
        ({"access_modes": ("RWX",)}, "access_modes", "'RWX' is no access mode: write ReadWriteMany, ReadWriteOnce"),
    ],
)
def test_what_cannot_be_meant_is_refused_with_its_option(change: dict[str, Any], field: str, said: str) -> None:
    found = find_problems(Asked(**{"name": "words", "uri": URI, **change}))
    assert [each for each, _ in found] == [field]
    assert said in str(found[0][1])


def test_a_path_that_is_no_directory_is_told_and_an_empty_one_is_not_the_current_directory(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "words.txt"
    file.write_text("1")
    for typed, said in (
        ("", "--from is empty"),
        (str(file), "is a file, and a dataset is a directory"),
        ("./not-there", "--from ./not-there: there is no such directory on this machine"),
        (str(tmp_path / "gone"), "there is no such directory on this machine"),
    ):
        assert run(["dataset", "create", "words", "--from", typed]) == 2
        assert said in capsys.readouterr().err


def test_a_failed_dataset_says_what_happens_next_and_a_revision_stands_alone() -> None:
    def describe(**status: Any) -> dict[str, str]:
        dataset = build_manifest(Asked("words", URI), "team") | {"status": status}
        return {str(label): fact for label, fact in build_lines(dataset, [])}

    assert describe(phase="Failed", retries=False)["Next"] == (
        "it is not tried again by itself: correct the cause, then `paddock dataset rerun words`"
    )
    assert describe(phase="Failed", retries=True)["Next"].startswith("it is tried again by itself")
    ready = describe(phase="Ready", revision='"18ea"')
    assert ready["Revision"] == '"18ea"' and "Next" not in ready


def test_a_password_in_an_address_is_in_no_message_and_in_no_repr() -> None:
    asked = Asked("words", "https://me:hunter2@example.com/a.txt?sig=hidden", revision="v1")
    said = "".join(str(text) for _, text in find_problems(asked))
    assert "https://example.com/a.txt" in said
    assert "hunter2" not in said + repr(asked) and "hidden" not in said


def test_the_object_has_the_given_options_and_nothing_else() -> None:
    assert build_manifest(Asked("words", URI), "team") == {
        "apiVersion": "paddock.dev/v1alpha1",
        "kind": "Dataset",
        "metadata": {"name": "words", "namespace": "team"},
        "spec": {"source": {"uri": URI}},
    }
    everything = Asked(
        "words",
        "s3://bucket/p",
        endpoint="https://oss.example",
        region="cn",
        include=("*.txt",),
        exclude=("b*",),
        secret="keys",
        size="1Gi",
        storage_class="fast",
        access_modes=("RWX",),
    )
    spec = build_manifest(everything, "team")["spec"]
    schema = build_crd()["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
    assert set(spec) <= set(schema)
    assert set(spec["source"]) <= set(schema["source"]["properties"])
    assert set(spec["storage"]) == set(schema["storage"]["properties"])


class Site(SimpleHTTPRequestHandler):
    """`/slow` answers when `go_on` is set; `asked` is set while it waits."""

    asked, go_on = threading.Event(), threading.Event()
    authorization = ""

    def do_GET(self) -> None:
        if self.path == "/slow":
            Site.authorization = self.headers["Authorization"] or ""
            self.asked.set()
            self.go_on.wait(60)
            self.path = "/words.txt"
        super().do_GET()

    def log_message(self, *_: Any) -> None: ...


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """A server with one file: its address, and the directory."""
    root = tmp_path_factory.mktemp("site")
    (root / "words.txt").write_bytes(b"one\ntwo\n")
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Site, directory=str(root))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}", root
        server.shutdown()


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with open_cluster("auto") as opened:
        yield opened


def test_data_is_named_fetched_listed_described_fetched_again_and_removed(
    cluster: Cluster, site: tuple[str, Path]
) -> None:
    address, _ = site
    digest = sha256(b"one\ntwo\n").hexdigest()
    made = cluster.paddock(
        "dataset", "create", "words", "--from", f"{address}/words.txt", "--sha256", digest.upper(), "--wait"
    )
    assert made.code == 0, str(made)
    assert made.out == "dataset/words created\ndataset words: ready (8 B in 1 file)\n"

    listed = cluster.paddock("dataset", "list")
    assert listed.out.splitlines()[0].split() == ["NAME", "STATUS", "PROGRESS", "SIZE", "AGE", "SOURCE", "WHAT"]
    assert "words" in listed.out and "100 %" in listed.out and "8 B" in listed.out
    # The widths follow the other Datasets of this cluster, which change.
    assert cluster.paddock("get", "datasets").out.splitlines()[0].split() == listed.out.splitlines()[0].split()
    described = dict(line.split(None, 1) for line in cluster.paddock("dataset", "describe", "words").out.splitlines())
    assert described["Claim"] == "dataset-words"
    assert described["Checksum"] == digest
    stored = json.loads(cluster.paddock("dataset", "describe", "words", "-o", "json").out)
    directory = Path(stored["status"]["path"])
    assert (directory / "words.txt").read_bytes() == b"one\ntwo\n"
    assert directory.parent.stat().st_mode & 0o077 == 0

    removed = cluster.paddock("dataset", "rm", "words")
    assert removed.out == "dataset/words deleted\n"
    until("the files are gone", lambda: not directory.parent.exists())
    assert cluster.paddock("dataset", "list").out == ""


def test_a_dataset_is_replaced_if_nothing_uses_it(cluster: Cluster, site: tuple[str, Path], tmp_path: Path) -> None:
    address, root = site
    (root / "other.txt").write_bytes(b"other\n")
    create = ("dataset", "create", "text", "--from")
    assert cluster.paddock(*create, f"{address}/words.txt", "--wait").code == 0
    refused = cluster.paddock(*create, f"{address}/other.txt")
    assert refused.code == 2
    assert "`paddock dataset rerun text` fetches it again" in refused.err and "--replace" in refused.err
    same = cluster.paddock(*create, f"{address}/words.txt", "--replace", "--wait")
    assert same.out == "dataset/text is as it was\ndataset text: ready (8 B in 1 file)\n", str(same)
    sized = cluster.paddock(*create, f"{address}/words.txt", "--replace", "--size", "2Gi")
    assert (sized.code, "dataset text keeps its claim" in sized.err) == (2, True), str(sized)
    other = cluster.paddock(*create, f"{address}/other.txt", "--replace", "--wait")
    assert other.out == "dataset/text replaced\ndataset text: ready (6 B in 1 file)\n", str(other)
    stored = json.loads(cluster.paddock("dataset", "describe", "text", "-o", "json").out)
    assert "paddock.dev/dataset" in stored["metadata"]["finalizers"]
    assert [each.name for each in Path(stored["status"]["path"]).iterdir()] == ["other.txt"]
    assert cluster.paddock("dataset", "rm", "text").code == 0


def test_a_file_with_a_dataset_that_is_there_is_submitted_again_and_one_that_differs_is_not(
    cluster: Cluster, site: tuple[str, Path]
) -> None:
    manifest = build_manifest(Asked("filed", f"{site[0]}/words.txt"), "default")
    assert cluster.paddock("submit", cluster.write(manifest)).code == 0
    again = cluster.paddock("submit", cluster.write(manifest))
    assert (again.code, "dataset filed is there already, as it is written here" in again.err) == (0, True), str(again)
    manifest["spec"]["source"]["sha256"] = "0" * 64
    differs = cluster.paddock("submit", cluster.write(manifest))
    assert differs.code == 2
    assert "dataset filed exists already, with another spec: `paddock dataset rm filed` removes it" in differs.err
    assert "kubectl" not in differs.err
    assert cluster.paddock("dataset", "rm", "filed").code == 0


def test_what_has_changed_at_the_source_is_there_after_a_rerun(cluster: Cluster, site: tuple[str, Path]) -> None:
    address, root = site
    (root / "news.txt").write_bytes(b"one\n")
    assert cluster.paddock("dataset", "create", "news", "--from", f"{address}/news.txt", "--wait").code == 0
    (root / "news.txt").write_bytes(b"three\n")
    again = cluster.paddock("dataset", "rerun", "news", "--wait")
    assert again.out == "dataset/news is fetched again\ndataset news: ready (6 B in 1 file)\n", str(again)
    directory = Path(json.loads(cluster.paddock("dataset", "describe", "news", "-o", "json").out)["status"]["path"])
    assert (directory / "news.txt").read_bytes() == b"three\n"
    assert cluster.paddock("dataset", "rm", "news").code == 0


def test_a_wrong_checksum_is_told_with_both_and_nothing_is_offered(cluster: Cluster, site: tuple[str, Path]) -> None:
    address = f"{site[0]}/words.txt"
    ended = cluster.paddock("dataset", "create", "wrong", "--from", address, "--sha256", "0" * 64, "--wait")
    assert ended.code == 1
    assert "0" * 64 in ended.err and sha256(b"one\ntwo\n").hexdigest() in ended.err
    claims = cluster.read("/api/v1/namespaces/default/persistentvolumeclaims")["items"]
    assert "dataset-wrong" not in [each["metadata"]["name"] for each in claims]
    assert cluster.paddock("dataset", "rm", "wrong").code == 0


def test_a_directory_is_not_told_to_be_fetched_however_its_scheme_is_written(cluster: Cluster, tmp_path: Path) -> None:
    for number, scheme in enumerate(("file", "File")):
        made = cluster.paddock("dataset", "create", f"here-{number}", "--from", f"{scheme}://{tmp_path}")
        assert (made.code, made.err) == (0, ""), str(made)
    assert cluster.paddock("dataset", "rm", "here-0", "here-1").code == 0


def test_a_dataset_in_use_is_not_removed(cluster: Cluster, tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    (data / "a").write_text("1")
    assert cluster.paddock("dataset", "create", "own", "--from", str(data), "--wait").code == 0
    job = build_light_job("reader", "cat /mnt/own/a; exec sleep 1000")
    template = job["spec"]["worker"]["template"]["spec"]
    template["volumes"] = [{"name": "d", "persistentVolumeClaim": {"claimName": "dataset-own"}}]
    template["containers"][0]["volumeMounts"] = [{"name": "d", "mountPath": "/mnt/own", "readOnly": True}]
    assert cluster.paddock("submit", cluster.write(job)).code == 0
    until("reader runs", lambda: cluster.phase("reader") == "Running")
    replaced = cluster.paddock("dataset", "create", "own", "--from", str(tmp_path), "--replace")
    assert replaced.code == 2
    assert "dataset own is in use by PaddleJob default/reader: it can be replaced when that has ended" in replaced.err
    refused = cluster.paddock("dataset", "rm", "own")
    assert refused.code == 2
    assert "dataset own is in use by PaddleJob default/reader: it can be removed when that has ended" in refused.err
    described = cluster.paddock("dataset", "describe", "own").out
    assert "PaddleJob default/reader" in described
    assert cluster.paddock("delete", "reader").code == 0
    until("own is free", lambda: cluster.paddock("dataset", "rm", "own").code == 0)
    assert (data / "a").read_text() == "1"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("describe", "zzz"), "there is no dataset 'zzz' in namespace default; `paddock dataset list` lists them"),
        (("rm", "nothing"), "there is no dataset 'nothing'"),
        (("rerun", "nothing"), "there is no dataset 'nothing'"),
        (("create", "x", "--from", "htp://a/b"), 'found "htp://"'),
        (("create", "x"), "--from"),
    ],
)
def test_a_mistake_is_a_sentence_and_exit_code_2(cluster: Cluster, words: tuple[str, ...], said: str) -> None:
    ended = cluster.paddock("dataset", *words)
    assert (ended.code, said in ended.err) == (2, True), str(ended)
    assert "Traceback" not in ended.err


def test_a_secret_never_reaches_the_arguments_or_variables_of_the_child(
    cluster: Cluster, site: tuple[str, Path]
) -> None:
    """The request goes by standard input; /proc shows the rest to others."""
    metadata = {"name": "keys", "namespace": "default"}
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": {"token": "hunter2"}}
    cluster.create("/api/v1/namespaces/default/secrets", secret)
    made = cluster.paddock("dataset", "create", "hidden", "--from", f"{site[0]}/slow", "--secret", "keys")
    assert made.code == 0, str(made)
    assert Site.asked.wait(60)
    children = [each for each in psutil.process_iter() if "paddock.datasets.fetch" in _arguments(each)]
    assert children
    assert not any("hunter2" in f"{_arguments(each)}{_variables(each)}" for each in children)
    Site.go_on.set()
    until("it is there", lambda: "100 %" in cluster.paddock("dataset", "list").out)
    assert Site.authorization == "Bearer hunter2"
    assert "hunter2" not in cluster.paddock("dataset", "describe", "hidden", "-o", "json").out
    assert cluster.paddock("dataset", "rm", "hidden").code == 0


def _arguments(process: psutil.Process) -> str:
    try:
        return " ".join(process.cmdline())
    except psutil.Error:
        return ""


def _variables(process: psutil.Process) -> str:
    """Children of tests beside this one may end at any moment."""
    try:
        return str(process.environ())
    except psutil.Error:
        return ""
