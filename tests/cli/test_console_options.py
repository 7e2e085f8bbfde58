"""Options of `paddock console` that would do nothing where they stand are refused."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click
import pytest

from paddock.app.consoles.cluster import Oidc
from paddock.cli.cluster.consoles import Serving, list_typed, read_oidc, refuse_misplaced
from paddock.cli.cluster.errors import UserError
from paddock.cli.verbs.console import command


@pytest.mark.parametrize(
    ("words", "cluster", "said"),
    [
        ([], False, ""),
        (["two", "--url"], False, ""),
        (["--port", "9"], True, ""),
        (["--port", "9"], False, "the local cluster's console has its own address: leave --port out"),
        (["--host", "a"], False, "--host goes with --serve: add it, or leave --host out"),
        (["--behind-tls"], True, "--behind-tls goes with --serve: add it, or leave --behind-tls out"),
        (["--serve", "--host", "a", "--bind-address", ":8765"], False, ""),
        (["--oidc-ca", "ca.pem"], True, "--oidc-ca goes with --serve: add it, or leave --oidc-ca out"),
        (["--serve", "--oidc-issuer", "https://id.example.com", "--oidc-scope", "groups"], False, ""),
        (["-n", "team"], False, ""),
        (["--serve", "-n", "team"], False, "--serve opens no page of its own: leave -n out"),
        (["--serve", "two"], False, "--serve opens no page of its own: leave JOB out"),
        (["--serve", "--url"], True, "--serve opens no page of its own: leave --url out"),
    ],
)
def test_an_option_that_would_do_nothing_is_refused(words: Sequence[str], cluster: bool, said: str) -> None:
    context: click.Context = command.make_context("console", list(words), resilient_parsing=False)
    try:
        refuse_misplaced(list_typed(context), serve=bool(context.params["serve"]), cluster=cluster)
    except UserError as error:
        assert str(error) == said
    else:
        assert said == ""


@pytest.mark.parametrize(
    ("serving", "read"),
    [
        (Serving(None), None),
        (Serving(None, oidc_issuer="https://id", oidc_client_id="us"), Oidc("https://id", "us")),
        (
            Serving(None, oidc_issuer="https://id", oidc_client_id="us", oidc_scope=("groups",), oidc_ca="ca.pem"),
            Oidc("https://id", "us", None, ("groups",), Path("ca.pem")),
        ),
    ],
)
def test_a_provider_is_read_of_its_options(serving: Serving, read: Oidc | None) -> None:
    assert read_oidc(serving) == read


@pytest.mark.parametrize(
    "serving",
    [
        Serving(None, oidc_issuer="https://id"),
        Serving(None, oidc_client_id="us"),
        Serving(None, oidc_client_secret_file="secret"),
        Serving(None, oidc_scope=("groups",)),
        Serving(None, oidc_ca="ca.pem"),
    ],
)
def test_half_of_a_provider_is_refused(serving: Serving) -> None:
    with pytest.raises(click.UsageError, match="needs both, --oidc-issuer and --oidc-client-id"):
        read_oidc(serving)


def test_an_issuer_without_https_is_refused_with_its_flag() -> None:
    with pytest.raises(
        click.BadParameter, match="'http://id' is no issuer of OpenID Connect: it has to begin with https"
    ):
        command.make_context("console", ["--serve", "--oidc-issuer", "http://id"])
