"""How a bucket is reached: its endpoint, region, style of address, credentials. What clouds differ in stands here."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from obstore.exceptions import InvalidPathError, PermissionDeniedError, UnauthenticatedError
from obstore.store import S3Store

from paddock.datasets.fetch.bodies import explain_size
from paddock.datasets.fetch.failures import FetchError
from paddock.datasets.fetch.fences import Fence
from paddock.datasets.fetch.names import show
from paddock.datasets.fetch.target import Target
from paddock.datasets.fetch.tries import TryAgain
from paddock.datasets.fetching import Fault

if TYPE_CHECKING:
    from obstore.store import ClientConfig, S3Config

DEFAULT_REGION = "us-east-1"
"""What S3 itself, MinIO and others take where nobody says more."""

_REGIONS = (
    re.compile(r"(?:s3\.)?oss-(?P<region>[a-z0-9-]+?)(?:-internal)?\.aliyuncs\.com"),
    re.compile(r"s3\.(?P<region>[a-z0-9-]+)\.bcebos\.com"),
    re.compile(r"obs\.(?P<region>[a-z0-9-]+)\.myhuaweicloud\.com"),
    re.compile(r"cos\.(?P<region>[a-z0-9-]+)\.myqcloud\.com"),
    re.compile(r"s3[.-](?P<region>[a-z0-9-]+)\.amazonaws\.com(?:\.cn)?"),
)
"""Endpoints that name the region: OSS, BOS, OBS, COS, S3."""

_BY_HOST = (".aliyuncs.com", ".myhuaweicloud.com", ".myqcloud.com")
"""Clouds that want the bucket in the name of the host; OSS refuses it in the path (SecondLevelDomainForbidden)."""


def build_store(bucket: str, endpoint: str, region: str, secret: Mapping[str, str], fence: Fence) -> S3Store:
    """The bucket. Without credentials, of the Secret or of the environment, requests are not signed."""
    config: S3Config = {"region": region or find_region(endpoint)}
    if endpoint:
        config |= build_address(bucket, endpoint)
    if key := secret.get("accessKeyID", "").strip():
        config |= {"access_key_id": key, "secret_access_key": secret.get("secretAccessKey", "").strip()}
        if token := secret.get("sessionToken", "").strip():
            config["session_token"] = token
    elif not os.environ.get("AWS_ACCESS_KEY_ID"):
        config["skip_signature"] = True
    options: ClientConfig = {
        **fence.build_options(config.get("endpoint") or f"https://s3.{config['region']}.amazonaws.com"),
        "allow_http": endpoint.startswith("http://"),
        "connect_timeout": "15s",
        "read_timeout": "60s",
        # Of a whole request: an object may take days.
        "timeout": "30days",
    }
    if certificates := os.environ.get("SSL_CERT_FILE"):
        options["root_certificate"] = Path(certificates).read_bytes()
    # Our own tries are counted by what they bring (`tries`).
    return S3Store(bucket, config=config, client_options=options, retry_config={"max_retries": 0})


def build_address(bucket: str, endpoint: str) -> S3Config:
    """The endpoint, and whether the bucket stands in the name of its host."""
    parts = urlsplit(endpoint)
    host = parts.hostname or ""
    if host.endswith(_BY_HOST) and not host.startswith(f"{bucket}."):
        host = f"{bucket}.{host}"
    if host.startswith(f"{bucket}.") and host.endswith((*_BY_HOST, ".bcebos.com", ".amazonaws.com")):
        port = f":{parts.port}" if parts.port else ""
        return {
            "endpoint": f"{parts.scheme}://{host}{port}{parts.path}".rstrip("/"),
            "virtual_hosted_style_request": True,
        }
    return {"endpoint": endpoint.rstrip("/"), "virtual_hosted_style_request": False}


def find_region(endpoint: str) -> str:
    """The region that an endpoint names."""
    host = urlsplit(endpoint).hostname or ""
    for each in _REGIONS:
        if found := each.search(host):
            return found["region"]
    return DEFAULT_REGION


_DOUBTED = "doubted-tags"

_PATH = re.compile(r'[Pp]ath "(.*?)"')
_SIZE = re.compile(r'invalid type: string "(.*?)", expected u64')
_LIST = re.compile(r"invalid list response: (.*)", re.IGNORECASE)
_STATUS = re.compile(r"status code: (\d{3}[^:<]*)")


@dataclass(slots=True)
class Bucket:
    """The bucket as it is fetched from. `checks_tags`: its ETags are MD5s, as far as has been seen; those of objects
    that a key service encrypts look the same and are none."""

    name: str
    endpoint: str
    store: S3Store
    fence: Fence
    checks_tags: bool = True

    def doubt_tags(self, target: Target) -> None:
        """They are no MD5s. The target remembers it, as the next process finds the file and asks for it no more."""
        self.checks_tags = False
        target.write_state(_DOUBTED, self._place)

    def is_doubted(self, target: Target) -> bool:
        """Whether a file of the target was taken whose ETag looks like an MD5 and is none of its bytes."""
        with suppress(OSError):
            return target.read_state(_DOUBTED) == self._place
        return False

    @property
    def _place(self) -> bytes:
        return f"{self.endpoint} {self.name}".encode()

    def show(self, key: str) -> str:
        return f"s3://{self.name}/{key}"

    def explain(self, error: Exception, key: str) -> Exception:
        """`TryAgain` for what may pass, else `FetchError`. obstore's own text ends with a dump of its values."""
        text = str(error).partition("\n\nDebug source")[0]
        where = f"{self.show(key)} at {self.endpoint or 'S3'}"
        if self.fence.led_to:
            return FetchError(
                f"{where} leads to {self.fence.led_to}: objects of another host are not taken, and it gets no "
                "credentials; if it is the right one, name it (spec.source.endpoint, or spec.source.region)"
            )
        status = _STATUS.search(text)
        refused = isinstance(error, PermissionDeniedError | UnauthenticatedError)
        if refused or (status and status[1].startswith(("401", "403"))):
            return FetchError(
                f"{where} is refused ({_read_code(text) or 'access denied'}): spec.source.secretName names a Secret "
                "with accessKeyID and secretAccessKey that may list and read it"
            )
        if size := _SIZE.search(text):
            return FetchError(f"{where} lists an object with the size {show(size[1])}, {explain_size()}")
        if listed := _LIST.search(text):
            return TryAgain(f"{where} sends a list that cannot be read ({listed[1][:200]})")
        if isinstance(error, InvalidPathError):
            return FetchError(_explain_path(text, where))
        if isinstance(error, FileNotFoundError) or "NoSuchBucket" in text:
            what = f"there is no bucket {self.name}" if "NoSuchBucket" in text else f"there is no {self.show(key)}"
            return FetchError(f"{what} at {self.endpoint or 'S3'}: correct spec.source.uri, or the endpoint")
        if status and status[1].startswith("4") and not status[1].startswith(("408", "429")):
            return FetchError(f"{where}: {status[1].strip()} {_read_code(text)}".rstrip() + _ADVICE)
        if "redirect" in text.lower() and "region" in text.lower():
            return FetchError(f"{where} is in another region: name it (spec.source.region)")
        if "certificate" in text.lower():
            return FetchError(
                f"{where}: its certificate is not trusted here: name the file of its authority in SSL_CERT_FILE",
                Fault.MACHINE,
            )
        return TryAgain(f"{where} answers {status[1].strip()}" if status else f"{where} cannot be reached")


_ADVICE = ": correct spec.source (uri, endpoint, region, secretName)"


def _explain_path(text: str, where: str) -> str:
    found = _PATH.search(text)
    name = show(found[1]) if found else "an object"
    return (
        f'{where} has {name}, which cannot be a file: a part of its name is empty, "." or "..", or a character of it '
        "is not allowed; rename it there, or name a prefix without it"
    )


def _read_code(text: str) -> str:
    found = re.search(r"<Code>(\w+)</Code>", text)
    return found[1] if found else ""
