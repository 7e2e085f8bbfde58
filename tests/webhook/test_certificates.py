"""The webhook's certificate and the bundle by which it is trusted."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509

from paddock.webhook.certificates import (
    MOST_IN_BUNDLE,
    Certificate,
    make_certificate,
    merge_bundle,
    name_service,
    renewal_due,
)

NOW = datetime(2026, 11, 20, tzinfo=UTC)
DAY = timedelta(days=1)


def make(age: int = 0, life: int = 30) -> str:
    return make_certificate(("a.b.svc",), NOW - age * DAY, life * DAY).pem


OWN, OTHER, THIRD, EXPIRED = make(), make(1), make(2), make(40)
BROKEN = "-----BEGIN CERTIFICATE-----\nbm90aGluZw==\n-----END CERTIFICATE-----"


def join(*pems: str) -> str:
    return "".join(f"{pem}\n" for pem in pems)


@pytest.mark.parametrize(
    ("bundle", "merged"),
    [
        ("", join(OWN)),
        (join(OWN), join(OWN)),
        (join(OTHER), join(OTHER, OWN)),
        (join(OWN, OTHER), join(OWN, OTHER)),
        (join(OTHER, OTHER), join(OTHER, OWN)),
        (join(EXPIRED, OTHER), join(OTHER, OWN)),
        (join(BROKEN, OTHER), join(OTHER, OWN)),
        ("words " + OTHER + " words", join(OTHER, OWN)),
        ("no certificate", join(OWN)),
        ("-----BEGIN CERTIFICATE-----", join(OWN)),
        (join(THIRD, OWN, EXPIRED), join(THIRD, OWN)),
    ],
    ids=["empty", "there", "another", "both", "twice", "expired", "broken", "text", "none", "half", "middle"],
)
def test_the_bundle_has_its_own_beside_those_of_others(bundle: str, merged: str) -> None:
    assert merge_bundle(bundle, OWN, NOW) == merged
    assert merge_bundle(merged, OWN, NOW) == merged


def test_a_bundle_that_needs_no_change_stays_as_it_was_written() -> None:
    written = f"\n{OTHER}\r\n\n{OWN}"
    assert merge_bundle(written, OWN, NOW) == written


def test_two_replicas_agree_after_one_round() -> None:
    first = merge_bundle("", OWN, NOW)
    second = merge_bundle(first, OTHER, NOW)
    assert merge_bundle(second, OWN, NOW) == second


def test_of_very_many_the_newest_stay_and_its_own() -> None:
    pems = [make(age) for age in range(1, MOST_IN_BUNDLE + 5)]
    old = make(29)
    kept = merge_bundle(join(*pems), old, NOW)
    assert kept == join(*pems[: MOST_IN_BUNDLE - 1], old)


@pytest.mark.parametrize(("left", "due"), [(30, False), (11, False), (10, True), (1, True), (0, True), (-5, True)])
def test_a_certificate_is_renewed_when_a_third_of_its_life_is_left(left: int, due: bool) -> None:
    made = NOW - 30 * DAY
    assert renewal_due(made, NOW, NOW - left * DAY) is due


def test_it_is_for_its_service_and_signs_nothing() -> None:
    names = name_service("paddle-webhook", "paddle-system")
    made: Certificate = make_certificate(names, NOW)
    read = x509.load_pem_x509_certificate(made.pem.encode())
    alternative = read.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert "paddle-webhook.paddle-system.svc" in alternative.get_values_for_type(x509.DNSName)
    assert not read.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    assert read.issuer == read.subject
    assert read.not_valid_after_utc == made.ends == NOW + 30 * DAY
    assert "PRIVATE" not in repr(made)
