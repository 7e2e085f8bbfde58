"""Which proxy a request of a registry or a Prometheus goes through."""

from __future__ import annotations

import aiohttp
import pytest
from yarl import URL

from paddock.serving.http_proxies import find_proxy


@pytest.mark.parametrize(
    ("url", "proxy"),
    [
        ("https://registry.example.com/v2/", "http://me:hush@proxy.example.com:3128"),
        ("http://registry.example.com/v2/", "http://plain.example.com:3128"),
        ("https://registry.inside.example.com/v2/", None),
        ("http://10.96.0.10:9090/api/v1/query", None),
        ("http://11.96.0.10:9090/api/v1/query", "http://plain.example.com:3128"),
        ("ws://registry.example.com/", None),  # of SOCKS
        ("https://127.0.0.1:5000/v2/", None),
        ("http://[::1]:5000/v2/", None),
        ("http://localhost:5000/v2/", None),
    ],
)
def test_each_address_has_the_proxy_that_the_environment_names(
    url: str, proxy: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("https_proxy", "http://me:hush@proxy.example.com:3128")
    monkeypatch.setenv("http_proxy", "plain.example.com:3128")
    monkeypatch.setenv("no_proxy", "inside.example.com, 10.0.0.0/8")
    monkeypatch.setenv("all_proxy", "socks5h://proxy.example.com:1080")
    found = find_proxy(URL(url))
    assert (str(found) if found is not None else None) == proxy


def test_a_proxy_that_is_no_address_is_an_error_that_does_not_tell_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("https_proxy", "http://me:hush@[")
    monkeypatch.delenv("no_proxy", raising=False)
    with pytest.raises(aiohttp.InvalidURL) as raised:
        find_proxy(URL("https://registry.example.com/v2/"))
    assert "hush" not in str(raised.value)
