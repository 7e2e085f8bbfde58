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

from paddock.datasets.fetch.bodies import LARGEST
from paddock.datasets.fetch.failures import FetchError
from paddock.datasets.fetch.fences import Fence
from paddock.datasets.fetch.names import show
from paddock.datasets.fetch.target import Target
from paddock.datasets.fetch.tries import TryAgain
from paddock.datasets.fetching import Fault
from paddock.words.phrases import Phrase, phrase

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

    def name_place(self, key: str) -> Phrase:
        return phrase("s3://{file} at {endpoint}", file=f"{self.name}/{key}", endpoint=self.endpoint or "S3")

    def explain(self, error: Exception, key: str) -> Exception:
        """`TryAgain` for what may pass, else `FetchError`. obstore's own text ends with a dump of its values."""
        text = str(error).partition("\n\nDebug source")[0]
        where = self.name_place(key)
        if self.fence.led_to:
            said = phrase(
                "{uri} leads to {host}: objects of another host are not taken, and it gets no credentials; if it is "
                "the right one, name it (spec.source.endpoint, or spec.source.region)",
                uri=where, host=self.fence.led_to,
            )  # fmt: skip
            return FetchError(said)
        status = _STATUS.search(text)
        refused = isinstance(error, PermissionDeniedError | UnauthenticatedError)
        if refused or (status and status[1].startswith(("401", "403"))):
            said = phrase(
                "{uri} is refused ({why}): spec.source.secretName names a Secret with accessKeyID and secretAccessKey "
                "that may list and read it",
                uri=where, why=_read_code(text) or phrase("access denied"),
            )  # fmt: skip
            return FetchError(said)
        if size := _SIZE.search(text):
            said = phrase(
                "{uri} lists an object with the size {size}, and a file has 0 to {most} bytes: correct it there, or "
                "leave it out (spec.source.exclude)",
                uri=where, size=show(size[1]), most=LARGEST,
            )  # fmt: skip
            return FetchError(said)
        if listed := _LIST.search(text):
            return TryAgain(phrase("{uri} sends a list that cannot be read ({why})", uri=where, why=listed[1][:200]))
        if isinstance(error, InvalidPathError):
            return FetchError(_explain_path(text, where))
        if isinstance(error, FileNotFoundError) or "NoSuchBucket" in text:
            return FetchError(self._explain_absent(text, key))
        if status and status[1].startswith("4") and not status[1].startswith(("408", "429")):
            why = f"{status[1].strip()} {_read_code(text)}".rstrip()
            said = phrase("{uri}: {why}: correct spec.source (uri, endpoint, region, secretName)", uri=where, why=why)
            return FetchError(said)
        if "redirect" in text.lower() and "region" in text.lower():
            return FetchError(phrase("{uri} is in another region: name it (spec.source.region)", uri=where))
        if "certificate" in text.lower():
            said = phrase(
                "{uri}: its certificate is not trusted here: name the file of its authority in SSL_CERT_FILE", uri=where
            )
            return FetchError(said, Fault.MACHINE)
        if not status:
            return TryAgain(phrase("{host} cannot be reached", host=where))
        code, _, why = status[1].strip().partition(" ")
        if why:
            return TryAgain(phrase("{host} answers {code} {why}", host=where, code=code, why=why))
        return TryAgain(phrase("{host} answers {code}", host=where, code=code))

    def _explain_absent(self, text: str, key: str) -> Phrase:
        endpoint = self.endpoint or "S3"
        if "NoSuchBucket" in text:
            return phrase(
                "there is no bucket {name} at {host}: correct spec.source.uri, or the endpoint",
                name=self.name, host=endpoint,
            )  # fmt: skip
        return phrase(
            "there is no {uri} at {endpoint}: correct spec.source.uri, or the endpoint",
            uri=self.show(key), endpoint=endpoint,
        )  # fmt: skip


def _explain_path(text: str, where: Phrase) -> Phrase:
    found = _PATH.search(text)
    if not found:
        return phrase(
            '{uri} has an object, which cannot be a file: a part of its name is empty, "." or "..", or a character of '
            "it is not allowed; rename it there, or name a prefix without it",
            uri=where,
        )
    return phrase(
        '{uri} has {name}, which cannot be a file: a part of its name is empty, "." or "..", or a character of it is '
        "not allowed; rename it there, or name a prefix without it",
        uri=where, name=show(found[1]),
    )  # fmt: skip


def _read_code(text: str) -> str:
    found = re.search(r"<Code>(\w+)</Code>", text)
    return found[1] if found else ""
