"""pip's settings translated to uv's, as a table. URLs are examples; `repr` shows no password."""

from pathlib import Path

import pytest

from paddock.environments.definition import Definition
from paddock.environments.indexes import pip_files, plan_uv_settings, read_pip_settings, read_uv_keys, uv_files

PLAIN = Definition("x")
A, B, C = "https://a.example/simple", "https://b.example/simple", "https://c.example/simple"
NAMES = (
    "UV_DEFAULT_INDEX", "UV_INDEX", "UV_INDEX_URL", "UV_EXTRA_INDEX_URL", "UV_INDEX_STRATEGY", "UV_FIND_LINKS",
    "SSL_CERT_FILE", "SSL_CLIENT_CERT", "UV_INSECURE_HOST", "UV_HTTP_TIMEOUT", "ALL_PROXY",
)  # fmt: skip


@pytest.mark.parametrize(
    ("pip_conf", "environ", "expected"),
    [
        ("", {}, {}),
        (f"[global]\nindex-url = {A}\n", {}, {"UV_DEFAULT_INDEX": A}),
        (f"[global]\nindex_url = {A}\n", {}, {"UV_DEFAULT_INDEX": A}),
        (f"[global]\nindex-url = {A}\n[install]\nindex-url = {B}\n", {}, {"UV_DEFAULT_INDEX": B}),
        (f"[global]\nindex-url = {A}\n", {"PIP_INDEX_URL": B}, {"UV_DEFAULT_INDEX": B}),
        (
            f"[global]\nextra-index-url =\n  {A}\n  {B}\n",
            {},
            {"UV_INDEX": f"{A} {B}", "UV_INDEX_STRATEGY": "unsafe-best-match"},
        ),
        ("[global]\nfind-links = /srv/w\n  /srv/v\n", {}, {"UV_FIND_LINKS": "/srv/w,/srv/v"}),
        ("", {"PIP_FIND_LINKS": "/a /b"}, {"UV_FIND_LINKS": "/a,/b"}),
        ("[global]\ncert = /etc/ca.pem\n", {}, {"SSL_CERT_FILE": "/etc/ca.pem"}),
        ("[global]\ncert = /etc/ca.pem\n", {"SSL_CERT_FILE": "/own.pem"}, {"SSL_CERT_FILE": "/own.pem"}),
        ("", {"REQUESTS_CA_BUNDLE": "/r.pem"}, {"SSL_CERT_FILE": "/r.pem"}),
        ("[global]\nclient-cert = /c.pem\n", {}, {"SSL_CLIENT_CERT": "/c.pem"}),
        ("[global]\ntrusted-host = a.example\n  b.example:81\n", {}, {"UV_INSECURE_HOST": "a.example b.example:81"}),
        ("[global]\ntimeout = 60\n", {}, {"UV_HTTP_TIMEOUT": "60"}),
        ("", {"PIP_DEFAULT_TIMEOUT": "90"}, {"UV_HTTP_TIMEOUT": "90"}),
        ("[global]\nproxy = http://p.example:3128\n", {}, {"ALL_PROXY": "http://p.example:3128"}),
        # uv's own index settings replace all of pip's, but not its certificates and find-links
        (
            f"[global]\nindex-url = {A}\nextra-index-url = {B}\ncert = /ca.pem\n",
            {"UV_INDEX_URL": C},
            {"UV_INDEX_URL": C, "SSL_CERT_FILE": "/ca.pem"},
        ),
        (f"[global]\nindex-url = {A}\n", {"UV_DEFAULT_INDEX": C}, {"UV_DEFAULT_INDEX": C}),
        ("this is no INI file", {"PIP_INDEX_URL": B}, {"UV_DEFAULT_INDEX": B}),
        ("[list]\nindex-url = x\n", {}, {}),
        ("[global]\nindex-url = https://u:%40x@a.example/\n", {}, {"UV_DEFAULT_INDEX": "https://u:%40x@a.example/"}),
    ],
)
def test_pips_settings_are_translated_for_uv(pip_conf: str, environ: dict[str, str], expected: dict[str, str]) -> None:
    settings = plan_uv_settings(PLAIN, read_pip_settings([pip_conf], environ), environ)
    assert {name: settings.environment[name] for name in NAMES if name in settings.environment} == expected
    assert settings.flags == ()


@pytest.mark.parametrize(("value", "flags"), [("1", ("--no-index",)), ("true", ("--no-index",)), ("0", ()), ("no", ())])
def test_pips_no_index_is_a_flag(value: str, flags: tuple[str, ...]) -> None:
    environ = {"PIP_NO_INDEX": value}
    assert plan_uv_settings(PLAIN, read_pip_settings([], environ), environ).flags == flags


def test_the_index_of_the_environment_wins_over_all() -> None:
    definition = Definition("x", index_url=C, extra_index_urls=(B,))
    environ = {"UV_INDEX_URL": A, "PIP_INDEX_URL": A, "UV_INDEX": A, "PIP_NO_INDEX": "1"}
    settings = plan_uv_settings(definition, read_pip_settings([], environ), environ)
    assert settings.environment["UV_DEFAULT_INDEX"] == C
    assert settings.environment["UV_INDEX"] == B
    assert "UV_INDEX_URL" not in settings.environment
    assert settings.flags == ()


def test_an_index_in_uv_toml_replaces_pips() -> None:
    keys = read_uv_keys(['[[index]]\nurl = "https://a.example"\n', "[pip]\nfind-links = ['/x']", "not = = toml"])
    assert keys == {"index", "pip", "find-links"}
    pip = {"index-url": B, "extra-index-url": B, "find-links": "/y", "no-index": "1"}
    settings = plan_uv_settings(PLAIN, pip, {}, keys)
    assert not set(settings.environment) & {"UV_DEFAULT_INDEX", "UV_INDEX", "UV_FIND_LINKS"}
    assert settings.flags == ()


def test_later_files_override_earlier_ones() -> None:
    texts = [f"[global]\nindex-url = {A}\ntimeout = 5\n", f"[global]\nindex-url = {B}\n"]
    assert read_pip_settings(texts, {}) == {"index-url": B, "timeout": "5"}


def test_install_overrides_global_across_files() -> None:
    assert read_pip_settings([f"[install]\nindex-url = {A}\n", f"[global]\nindex-url = {B}\n"], {})["index-url"] == A


def test_variables_that_select_another_environment_are_removed() -> None:
    environ = {"VIRTUAL_ENV": "/v", "UV_PYTHON": "3.8", "UV_SYSTEM_PYTHON": "1", "PYTHONPATH": "/p", "HOME": "/h"}
    settings = plan_uv_settings(PLAIN, {}, environ)
    assert not set(environ) - {"HOME"} & set(settings.environment)
    assert settings.environment["HOME"] == "/h"
    assert settings.environment["UV_PYTHON_DOWNLOADS"] == "never"


def test_passwords_are_neither_in_flags_nor_in_repr() -> None:
    environ = {"PIP_INDEX_URL": "https://user:secret@a.example/simple"}
    settings = plan_uv_settings(PLAIN, read_pip_settings([], environ), environ)
    assert "secret" in settings.environment["UV_DEFAULT_INDEX"]
    assert "secret" not in repr(settings) + " ".join(settings.flags)


def test_the_configuration_files_are_those_of_pip() -> None:
    home = Path("/home/u")
    assert pip_files({}, home, "linux") == (
        Path("/etc/xdg/pip/pip.conf"),
        Path("/etc/pip.conf"),
        home / ".pip/pip.conf",
        home / ".config/pip/pip.conf",
    )
    assert pip_files({"XDG_CONFIG_HOME": "/c"}, home, "linux")[-1] == Path("/c/pip/pip.conf")
    named = pip_files({"PIP_CONFIG_FILE": "/n.conf"}, home, "linux")
    assert named[-1] == Path("/n.conf")
    assert home / ".pip/pip.conf" not in named
    assert pip_files({"PIP_CONFIG_FILE": "/dev/null"}, home) == ()
    assert home / "Library/Application Support/pip/pip.conf" in pip_files({}, home, "darwin")


def test_the_uv_toml_files_are_those_of_uv() -> None:
    home = Path("/home/u")
    assert uv_files({}, home) == (home / ".config/uv/uv.toml", Path("/etc/uv/uv.toml"))
    assert uv_files({"UV_CONFIG_FILE": "/x.toml"}, home) == (Path("/x.toml"),)
    assert uv_files({"UV_NO_CONFIG": "1"}, home) == ()
