"""What other programs write, without what may be a secret."""

from __future__ import annotations

import pytest

from paddock.client.redaction import redact

JWT = "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJhbGljZSIsImV4cCI6MX0.c2lnbmF0dXJlLTEyMw"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"token {JWT} was refused", "token ….….… was refused"),
        ("Authorization: Bearer abc", "Authorization: Bearer …"),
        ("password=hunter2 is wrong", "password=… is wrong"),
        ('{"client_secret": "s"}', '{"client_secret": "…"}'),
        ("key wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "key …"),
        ("https://me:pw@host/path?code=1#x failed", "https://host/path?… failed"),
        ("\x1b[31mred\x1b[0m and \x1b]0;title\x07bell\x07\ttab", "red and bell tab"),
    ],
)
def test_secrets_and_control_sequences_are_taken_out(text: str, expected: str) -> None:
    assert redact(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        'Unable to locate credentials. You can configure credentials by running "aws configure".',
        "An error occurred (ExpiredTokenException): The security token included in the request is expired",
        "ERROR: (gcloud.config.config-helper) There was a problem refreshing your current auth tokens: "
        "Reauthentication failed. Please run:\n  $ gcloud auth login",
        "No cluster found for name: training-team-a-eu-west-1.",
        "open /home/me/.config/gcloud/application_default_credentials.json: no such file or directory",
        "To sign in, use a web browser to open the page https://microsoft.com/devicelogin and enter the code",
        "lookup sts.us-east-1.amazonaws.com: no such host",
    ],
)
def test_what_providers_tell_their_users_stays(text: str) -> None:
    assert redact(text) == text


def test_a_known_secret_is_hidden_wherever_it_stands() -> None:
    assert redact("it is abc, (abc)", ["abc", ""]) == "it is …, (…)"
