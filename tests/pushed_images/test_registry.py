"""Images through a real registry: what is sent, what is not sent twice, and a registry that lies, cuts and refuses."""

from __future__ import annotations

import hashlib
import json
import os
import random
import ssl
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from paddock.apiserver.http.certificates import make_certificates
from paddock.environments.requirement_files import Requirements
from paddock.environments.uv import Uv, find_uv
from paddock.images.base import fetch_image
from paddock.images.building import Built, Recipe, Workplace, build
from paddock.images.errors import ImageError
from paddock.images.layers import Entry
from paddock.images.platforms import Platform
from paddock.images.references import Reference, read_reference, read_target
from paddock.images.registry import open_registry
from paddock.images.sending import Sent, send
from support.faulty_registry import Faults, serve_faulty
from support.registries import RealRegistry, build_archive, serve_registry
from support.wheels import build_wheel

PATH = "/usr/local/bin:/bin"
PLACE = "usr/local/lib/python3.11/site-packages"


@pytest.fixture(autouse=True)
def _no_logins(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path / "docker"))
    monkeypatch.setattr("paddock.images.registry._BACKOFF", (0.01,))


def log_in(tmp_path: Path, host: str, **entry: str) -> None:
    (tmp_path / "docker").mkdir(exist_ok=True)
    (tmp_path / "docker" / "config.json").write_text(json.dumps({"auths": {host: entry}}))


@dataclass(slots=True)
class Bench:
    """What a push needs, and what it has said."""

    place: Path
    said: list[str] = field(default_factory=list)
    workplaces: list[Workplace] = field(default_factory=list)

    async def build(self, base: str, target: str, **recipe: Any) -> Built:
        workplace = Workplace(self.place / "cache")
        self.workplaces.append(workplace)
        return await build(
            read_recipe(base, target, **recipe), workplace, Uv(find_uv(), dict(os.environ), self.place),
            lambda said: self.said.append(str(said)), lambda doing, done, whole: None,
        )  # fmt: skip

    async def push(self, base: str, target: str, **recipe: Any) -> tuple[Built, Sent]:
        built = await self.build(base, target, **recipe)
        return built, await send(built, lambda doing, done, whole: None)

    def write(self, **files: str) -> tuple[Entry, ...]:
        """Files of a program, as entries."""
        entries = []
        for name, text in files.items():
            file = self.place / "code" / f"{name}.py"
            file.parent.mkdir(exist_ok=True)
            file.write_text(text)
            entries.append(Entry(f"paddock/workdir/{name}.py", file))
        return tuple(entries)


def read_recipe(base: str, target: str, **recipe: Any) -> Recipe:
    read = read_reference(base), read_target(target)
    assert isinstance(read[0], Reference) and isinstance(read[1], Reference)
    return Recipe(*read, **{"platform": Platform(), **recipe})


@pytest.fixture
def bench(tmp_path: Path) -> Any:
    made = Bench(tmp_path)
    yield made
    for each in made.workplaces:
        each.close()


@pytest.fixture
def wheels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in place of an index."""
    folder = tmp_path / "wheels"
    build_wheel(folder, "low", "1.0")
    build_wheel(folder, "low", "2.0")
    build_wheel(folder, "high", "1.0", "low")
    build_wheel(folder, "machine", "1.0", tag="cp39-cp39-manylinux_2_17_x86_64")
    monkeypatch.setenv("UV_FIND_LINKS", str(folder))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "uv-cache"))
    return folder


def put_base(registry: RealRegistry, place: Path, name: str = "base:1", **more: Any) -> str:
    """An image with Python 3.11 and the package low 1.0."""
    metadata = "Metadata-Version: 2.1\nName: low\nVersion: 1.0\n\ntext\n"
    added = more.pop("files", {})
    files = {
        "usr/local/bin/python3.11": "x", f"{PLACE}/low-1.0.dist-info/METADATA": metadata,
        "etc/os-release": 'ID=debian\nVERSION_ID="12"\n',
    }  # fmt: skip
    built: Mapping[str, Any] = {
        "env": {"PATH": PATH}, "links": {"usr/local/bin/python": "python3.11"}, "settings": {"Entrypoint": ["/e"]},
        **more,
    }  # fmt: skip
    registry.put(name, build_archive(place / "base.tar", {**files, **added}, **built))
    return f"{registry.host}/{name}"


def need(*packages: str) -> dict[str, Any]:
    return {"requirements": Requirements(list(packages)), "file": "requirements.txt"}


async def test_an_image_has_the_base_the_packages_and_the_code(
    registry: RealRegistry, bench: Bench, wheels: Path, tmp_path: Path
) -> None:
    base = put_base(registry, tmp_path)
    code = bench.write(train="print(1)\n", other="")
    built, sent = await bench.push(base, f"{registry.host}/whole/x", code=code, **need("high"))
    name = f"whole/x@{built.digest}"
    assert built.image == f"{registry.host}/{name}"
    config = registry.inspect(name, "--config")
    assert config["config"]["WorkingDir"] == "/paddock/workdir" and config["config"]["Entrypoint"] == ["/e"]
    assert config["config"]["Env"] == [f"PATH=/paddock/packages/bin:{PATH}", "PYTHONPATH=/paddock/packages"]
    assert config["config"]["Labels"]["org.opencontainers.image.base.name"] == base
    root = registry.unpack(name, tmp_path)
    assert (root / "paddock/workdir/train.py").read_text() == "print(1)\n"
    assert (root / "usr/local/bin/python3.11").exists()
    assert (root / "paddock/packages/high.py").exists()
    assert not (root / "paddock/packages/low.py").exists(), "the base image has it"
    assert (root / "paddock/packages/bin/high-tool").read_text().startswith("#!/usr/bin/env python3\n")
    assert str(tmp_path) not in "".join(each.read_text() for each in (root / "paddock").rglob("*") if each.is_file()), (
        "nothing names this machine"
    )
    assert bench.said == [
        "the image gets 1 package of requirements.txt, for Python 3.11 on linux/amd64 (glibc 2.36): high 1.0 "
        f"({bench.said[0].rpartition('(')[2]}"
    ]  # fmt: skip
    assert sent.blobs == 3 and sent.there == 1, "the base image's layer was mounted"


async def test_a_changed_line_sends_the_code_alone_and_an_unchanged_program_nothing(
    registry: RealRegistry, bench: Bench, wheels: Path, tmp_path: Path
) -> None:
    base, target = put_base(registry, tmp_path), f"{registry.host}/again/x"
    first, _ = await bench.push(base, target, code=bench.write(train="print(1)\n"), **need("high"))
    second, sent = await bench.push(base, target, code=bench.write(train="print(1)\n"), **need("high"))
    assert second.digest == first.digest and sent == Sent(there=4)
    third, sent = await bench.push(base, target, code=bench.write(train="print(2)\n"), **need("high"))
    assert third.digest != first.digest
    assert sent.blobs == 2 and sent.bytes < 2000, "the code and the configuration"
    assert third.layers[0] == first.layers[0]


async def test_another_machine_with_the_same_files_makes_the_same_image(
    registry: RealRegistry, wheels: Path, tmp_path: Path
) -> None:
    base = put_base(registry, tmp_path)
    digests = set()
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        bench = Bench(tmp_path / name)
        built = await bench.build(base, f"{registry.host}/same/x", code=bench.write(a="x"), **need("high"))
        digests.add(built.digest)
        bench.workplaces[0].close()
    assert len(digests) == 1


async def test_what_clashes_with_the_base_image_is_installed_over_it_and_said(
    registry: RealRegistry, bench: Bench, wheels: Path, tmp_path: Path
) -> None:
    base = put_base(registry, tmp_path)
    await bench.push(base, f"{registry.host}/clash/x", **need("low>=2"))
    assert "low 2.0" in bench.said[0]
    assert bench.said[1] == "low 1.0 of the base image is hidden by another version, which requirements.txt asks for"


async def test_what_the_base_image_has_needs_no_layer(
    registry: RealRegistry, bench: Bench, wheels: Path, tmp_path: Path
) -> None:
    built, _ = await bench.push(put_base(registry, tmp_path), f"{registry.host}/has/x", **need("low"))
    assert built.layers == () and bench.said == ["the base image has all packages of requirements.txt"]


@pytest.mark.parametrize(
    ("package", "said"),
    [
        (
            "machine",
            "requirements.txt: machine 1.0 has no wheel for Python 3.11 on linux/amd64 (glibc 2.36)",
        ),
        ("gone", "requirements.txt: no package index here has gone: check the name"),
        ("low>9", "requirements.txt asks for low>9, and there is only low<=2.0: change the version"),
    ],
)
@pytest.mark.slow
async def test_packages_that_cannot_be_had_are_told_in_one_sentence(
    registry: RealRegistry, bench: Bench, wheels: Path, tmp_path: Path, package: str, said: str
) -> None:
    with pytest.raises(ImageError) as raised:
        await bench.build(put_base(registry, tmp_path), f"{registry.host}/no/x", **need(package))
    assert str(raised.value).startswith(said) and raised.value.is_mistake, raised.value


@pytest.mark.slow
async def test_the_python_is_told_by_the_image_or_asked_for(
    registry: RealRegistry, bench: Bench, wheels: Path, tmp_path: Path
) -> None:
    registry.put("nothing:1", build_archive(tmp_path / "n.tar", {"bin/sh": "x"}))
    base, target = f"{registry.host}/nothing:1", f"{registry.host}/python/x"
    with pytest.raises(ImageError, match=r"does not tell which Python it has.*name the version by --image-python"):
        await bench.build(base, target, **need("high"))
    await bench.build(base, target, python="3.12", **need("high"))
    assert "for Python 3.12 on linux/amd64:" in bench.said[-1]
    registry.put("told:1", build_archive(tmp_path / "t.tar", {"bin/sh": "x"}, env={"PYTHON_VERSION": "3.10.4"}))
    await bench.build(f"{registry.host}/told:1", target, **need("high"))
    assert "for Python 3.10 on" in bench.said[-1]


async def test_an_image_for_other_machines_is_refused(registry: RealRegistry, bench: Bench, tmp_path: Path) -> None:
    archive = build_archive(tmp_path / "a.tar", {"bin/sh": "x"}, architecture="arm64")
    registry.put("arm:1", archive, "--override-arch", "arm64")
    base = f"{registry.host}/arm:1"
    with pytest.raises(ImageError, match="arm:1 is for linux/arm64, and the nodes are linux/amd64"):
        await bench.build(base, f"{registry.host}/arm/x", code=bench.write(a=""))
    await bench.build(base, f"{registry.host}/arm/x", code=bench.write(a=""), platform=Platform("arm64"))


@pytest.mark.slow
async def test_a_base_image_of_another_registry_is_copied(
    registry: RealRegistry, bench: Bench, wheels: Path, tmp_path: Path
) -> None:
    faults = Faults()
    base = put_base(registry, tmp_path)
    async with serve_faulty(registry.host, faults) as other:  # of another name
        target = f"{other}/copied/x"
        built, sent = await bench.push(base, target, code=bench.write(a="x"), **need("high"))
        assert sent.blobs == 4 and sent.there == 0
        _, again = await bench.push(base, target, code=bench.write(a="y"), **need("high"))
        assert again.blobs == 2
    assert registry.inspect(f"copied/x@{built.digest}")["Architecture"] == "amd64"


@pytest.mark.slow
async def test_a_tag_that_is_named_is_set_also_where_the_image_is_there(
    registry: RealRegistry, bench: Bench, tmp_path: Path
) -> None:
    base = put_base(registry, tmp_path)
    one, _ = await bench.push(base, f"{registry.host}/tag/x:v1", code=bench.write(a="1"))
    two, _ = await bench.push(base, f"{registry.host}/tag/x:v1", code=bench.write(a="2"))
    assert registry.inspect("tag/x:v1")["Digest"] == two.digest
    _, sent = await bench.push(base, f"{registry.host}/tag/x:v1", code=bench.write(a="1"))
    assert sent.blobs == 0 and registry.inspect("tag/x:v1")["Digest"] == one.digest


def big(bench: Bench) -> tuple[Entry, ...]:
    """Of 3 MB that do not compress."""
    entries = bench.write(big="")
    assert entries[0].source is not None
    entries[0].source.write_bytes(random.Random(1).randbytes(3_000_000))
    return entries


@pytest.mark.parametrize(("resumes", "most"), [(True, 1.2), (False, 2.5)])
@pytest.mark.slow
async def test_an_upload_that_is_cut_goes_on_where_the_registry_says(
    registry: RealRegistry, bench: Bench, tmp_path: Path, resumes: bool, most: float
) -> None:
    """docker-registry knows nothing of an upload that was cut, and gets it anew."""
    put_base(registry, tmp_path)
    faults = Faults(cut_uploads=2, resumes=resumes)
    counted: list[int] = []
    async with serve_faulty(registry.host, faults) as host:
        built = await bench.build(f"{host}/base:1", f"{host}/cut-{resumes!s}/x".lower(), code=big(bench))
        await send(built, lambda doing, done, whole: counted.append(done))
    assert faults.cut_uploads == 0
    whole = sum(layer.blob.size for layer in built.layers) + built.config.size
    assert whole <= faults.sent < most * whole
    assert counted[-1] == whole
    assert registry.unpack(f"cut-{resumes!s}/x@{built.digest}".lower(), tmp_path).exists()


async def test_a_download_that_is_cut_goes_on_at_once_where_it_was(
    registry: RealRegistry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("paddock.images.registry._BACKOFF", (0.0, 3600.0))  # tries that bring bytes are first ones
    put_base(registry, tmp_path, files={"big": random.Random(2).randbytes(3_000_000)})
    faults, counted = Faults(), list[int]()
    async with serve_faulty(registry.host, faults) as host:
        recipe = read_recipe(f"{host}/base:1", f"{host}/cut2/x")
        async with open_registry(recipe.base.repository, None, ()) as opened:
            (layer,) = (await fetch_image(opened, recipe.base, recipe.platform)).layers
            faults.cut_downloads = 3
            await opened.download(layer, tmp_path / "layer", counted.append)
    assert (faults.cut_downloads, sum(counted)) == (0, layer.size)
    assert f"sha256:{hashlib.sha256((tmp_path / 'layer').read_bytes()).hexdigest()}" == layer.digest


async def test_a_registry_that_always_cuts_is_told(registry: RealRegistry, bench: Bench, tmp_path: Path) -> None:
    put_base(registry, tmp_path)
    async with serve_faulty(registry.host, Faults()) as host:
        built = await bench.build(f"{host}/base:1", f"{host}/cut3/x", code=big(bench))
    with pytest.raises(ImageError, match=r"127\.0\.0\.1:\d+ is not reached: Connection refused"):
        await send(built, lambda doing, done, whole: None)


@pytest.mark.parametrize("what", ["blobs", "manifests"])
async def test_bytes_that_are_not_those_of_their_digest_are_not_used(
    registry: RealRegistry, bench: Bench, wheels: Path, tmp_path: Path, what: str
) -> None:
    put_base(registry, tmp_path)
    async with serve_faulty(registry.host, Faults(lies=what)) as host:
        with pytest.raises(ImageError, match="has sent other bytes than those of sha256:"):
            await bench.build(f"{host}/base:1", f"{host}/lie/x", **need("high"))
    assert not list((tmp_path / "cache").glob("images/layers/*"))


@pytest.mark.parametrize(
    ("refuses", "said", "is_mistake"),
    [
        ({"POST .*/uploads": 403}, "lets nobody push to {host}/no/x without a user (DENIED: requested access [31m is "
         "denied): `docker login {host}`", True),
        ({"GET .*/base/manifests": 403}, "{host} has no {host}/base, or lets nobody pull it without a user", True),
        ({"GET .*/base/manifests": 404}, "{host} has no {host}/base:1: check its name and its tag", True),
        ({"GET .*/base/blobs": 500}, "{host}: pulling {host}/base failed: it answered 500", False),
        ({"GET .*/base/manifests": 429}, "{host} takes no more requests for now (429)", False),
    ],
)  # fmt: skip
@pytest.mark.slow
async def test_what_a_registry_refuses_is_told_before_anything_is_built(
    registry: RealRegistry, bench: Bench, tmp_path: Path, refuses: dict[str, int], said: str, is_mistake: bool
) -> None:
    put_base(registry, tmp_path)
    async with serve_faulty(registry.host, Faults(refuses=refuses)) as host:
        with pytest.raises(ImageError) as raised:
            await bench.build(f"{host}/base:1", f"{host}/no/x", code=bench.write(a=""))
        assert said.format(host=host) in str(raised.value)
        assert raised.value.is_mistake is is_mistake


async def test_a_user_is_told_for_a_token_of_both_repositories(
    registry: RealRegistry, bench: Bench, tmp_path: Path
) -> None:
    put_base(registry, tmp_path)
    faults = Faults(user="me:hush")
    async with serve_faulty(registry.host, faults) as host:
        with pytest.raises(ImageError, match=f"without a user .*: `docker login {host}`"):
            await bench.build(f"{host}/base:1", f"{host}/token/x", code=bench.write(a=""))
        log_in(tmp_path, host, username="me", password="wrong")
        with pytest.raises(
            ImageError,
            match=f"{host} does not take the user and the password of .*: log in again by `docker login {host}`",
        ) as raised:
            await bench.build(f"{host}/base:1", f"{host}/token/x", code=bench.write(a=""))
        assert "wrong" not in str(raised.value)
        log_in(tmp_path, host, username="me", password="hush")
        built, _ = await bench.push(f"{host}/base:1", f"{host}/token/x", code=bench.write(a=""))
    assert built.needed_user
    assert {"repository:token/x:pull,push", "repository:base:pull"} <= set(faults.scopes)


@pytest.mark.slow
async def test_a_wrong_password_is_none_of_a_lacking_right(bench: Bench, tmp_path: Path) -> None:
    (tmp_path / "users").write_text("me:$2y$12$423Jqgw25RYcT0uOvKeLoOYjmP1z4G91V3ys457SR7qfIIP5dAoNu\n")
    with serve_registry(tmp_path / "closed", users=tmp_path / "users") as registry:
        log_in(tmp_path, registry.host, username="me", password="wrong")
        with pytest.raises(ImageError, match=f"does not take .*: log in again by `docker login {registry.host}`"):
            await bench.build(f"{registry.host}/base:1", f"{registry.host}/x", code=bench.write(a=""))
        log_in(tmp_path, registry.host, username="me", password="secret")
        with pytest.raises(ImageError, match=f"has no {registry.host}/base:1"):
            await bench.build(f"{registry.host}/base:1", f"{registry.host}/x", code=bench.write(a=""))


async def test_a_user_is_told_to_no_storage_elsewhere_nor_is_one_of_netrc(
    registry: RealRegistry, bench: Bench, wheels: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_base(registry, tmp_path)
    (tmp_path / "netrc").write_text("default login other password secret\n")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    storage, faults = Faults(), Faults(user="me:hush")
    async with serve_faulty(registry.host, storage) as elsewhere, serve_faulty(registry.host, faults) as host:
        log_in(tmp_path, host, username="me", password="hush")
        faults.elsewhere = f"http://{elsewhere}"
        await bench.build(f"{host}/base:1", f"{host}/moved/x", **need("high"))
    assert storage.heard == {""} and any("/blobs/sha256" in each for each in storage.asked)
    assert faults.heard == {"", "Basic", "Bearer"}


async def test_redirects_that_never_end_are_an_error(
    registry: RealRegistry, bench: Bench, wheels: Path, tmp_path: Path
) -> None:
    put_base(registry, tmp_path)
    faults = Faults()
    async with serve_faulty(registry.host, faults) as host:
        faults.elsewhere = f"http://{host}"
        with pytest.raises(ImageError, match="it answered 307"):
            await bench.build(f"{host}/base:1", f"{host}/round/x", **need("high"))


@pytest.mark.parametrize("elsewhere", ["http://[", "ftp://x", "http:"])
@pytest.mark.slow
async def test_an_address_that_is_none_is_an_error_of_the_registry(
    registry: RealRegistry, bench: Bench, wheels: Path, tmp_path: Path, elsewhere: str
) -> None:
    put_base(registry, tmp_path)
    async with serve_faulty(registry.host, Faults(elsewhere=elsewhere)) as host:
        with pytest.raises(ImageError):
            await bench.build(f"{host}/base:1", f"{host}/nowhere/x", **need("high"))
    async with serve_faulty(registry.host, Faults(user="me:hush", realm=elsewhere)) as host:
        with pytest.raises(ImageError):
            await bench.build(f"{host}/base:1", f"{host}/nowhere/x", **need("high"))


async def test_a_registry_that_takes_nothing_of_an_upload_is_left(
    registry: RealRegistry, bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_base(registry, tmp_path)
    monkeypatch.setattr("paddock.images.registry._STALLED", 0.1)
    async with serve_faulty(registry.host, Faults(stalls=True)) as host:
        built = await bench.build(f"{host}/base:1", f"{host}/stalls/x", code=big(bench))
        with pytest.raises(ImageError, match="does not answer"):
            await send(built, lambda doing, done, whole: None)


async def test_an_identity_token_is_exchanged(registry: RealRegistry, bench: Bench, tmp_path: Path) -> None:
    put_base(registry, tmp_path)
    async with serve_faulty(registry.host, Faults(user="me:hush", identity="lasting")) as host:
        log_in(tmp_path, host, identitytoken="lasting")
        await bench.push(f"{host}/base:1", f"{host}/identity/x", code=bench.write(a=""))


async def test_an_unknown_host_is_told_as_itself(bench: Bench, registry: RealRegistry) -> None:
    with pytest.raises(ImageError, match=r"there is no registry nowhere\.invalid: its name is not known here"):
        await bench.build("nowhere.invalid/x", f"{registry.host}/x", code=bench.write(a=""))


async def test_a_registry_without_tls_is_told(bench: Bench, registry: RealRegistry) -> None:
    with pytest.raises(ImageError, match="does not speak TLS: check the address, or write http://"):
        await bench.build(f"{registry.host}/base:1", f"https://{registry.host}/x", code=bench.write(a=""))


def make_tls(place: Path) -> tuple[ssl.SSLContext, Path]:
    """A server's side, and the certificate of who has signed it."""
    place.mkdir()
    made = make_certificates(place, time.time())
    return made.context(), made.authority


async def test_a_certificate_is_trusted_where_its_authority_is_named(
    registry: RealRegistry, bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Behind TLS the registry names itself by http, as one does behind a proxy that it does not know."""
    put_base(registry, tmp_path)
    context, authority = make_tls(tmp_path / "tls")
    async with serve_faulty(registry.host, Faults(), context) as host:
        with pytest.raises(
            ImageError, match=rf"the certificate of {host} is not trusted here .*certs\.d/{host}/ca\.crt"
        ):
            await bench.build(f"{host}/base:1", f"{host}/tls/x", code=bench.write(a=""))
        monkeypatch.setenv("SSL_CERT_FILE", str(authority))
        await bench.push(f"{host}/base:1", f"{host}/tls/x", code=bench.write(a=""))


async def test_a_user_is_not_told_over_plain_http_by_a_registry_that_has_tls(
    registry: RealRegistry, bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    context, authority = make_tls(tmp_path / "tls")
    monkeypatch.setenv("SSL_CERT_FILE", str(authority))
    faults = Faults(user="me:hush")
    async with serve_faulty(registry.host, faults, context) as host:
        log_in(tmp_path, host, username="me", password="hush")
        with pytest.raises(ImageError, match="for tokens, which is no https: nobody's user is told there"):
            await bench.build(f"{host}/base:1", f"{host}/tls/x", code=bench.write(a=""))
    assert not any("/token" in each for each in faults.asked)


async def test_code_is_not_sent_in_clear_text_where_the_registry_has_tls(
    registry: RealRegistry, bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_base(registry, tmp_path)
    context, authority = make_tls(tmp_path / "tls")
    monkeypatch.setenv("SSL_CERT_FILE", str(authority))
    storage = Faults()
    async with (
        serve_faulty(registry.host, storage) as elsewhere,
        serve_faulty(
            registry.host, Faults(uploads_at=f"http://localhost:{elsewhere.rpartition(':')[2]}"), context
        ) as host,
    ):
        with pytest.raises(ImageError, match=rf"{host} would have layers sent to http://localhost.*in clear text"):
            await bench.push(f"{host}/base:1", f"{host}/plain/x", code=bench.write(a=""))
    assert storage.asked == []
