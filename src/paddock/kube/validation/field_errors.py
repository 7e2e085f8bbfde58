"""Field errors as values: the code of the rule, the path, the value, and the arguments of a message.

Source: apimachinery, util/validation/field: the first codes are its ErrorTypes, the others divide them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class Code(StrEnum):
    """The broken rule. The brackets name the `args` of the error."""

    REQUIRED = "required"  # [type: the schema's, where one is known]
    INVALID = "invalid"
    DUPLICATE = "duplicate"
    NOT_FOUND = "not_found"  # [names]
    NOT_SUPPORTED = "not_supported"  # [allowed]
    FORBIDDEN = "forbidden"
    TOO_LONG = "too_long"  # [most]
    TOO_MANY = "too_many"  # [most]

    UNKNOWN_FIELD = "unknown_field"  # [known]
    FOREIGN_FIELD = "foreign_field"  # of another version of the kind
    WRONG_TYPE = "wrong_type"  # [wanted, found: types of JSON]
    NUMBER_TOO_LARGE = "number_too_large"  # for its 64 bits [wanted, found]
    NOT_IN_ENUM = "not_in_enum"  # [allowed]
    TOO_SHORT = "too_short"  # [least]
    NO_MATCH = "no_match"  # [pattern]
    NO_TIME = "no_time"
    OUT_OF_FORMAT = "out_of_format"  # [format: int32 or int64]
    TOO_SMALL = "too_small"  # [bound]
    TOO_LARGE = "too_large"  # [bound]
    NOT_ABOVE = "not_above"  # [bound]
    NOT_BELOW = "not_below"  # [bound]
    NO_MULTIPLE = "no_multiple"  # [step]
    TOO_FEW = "too_few"  # [least, of: items or properties]
    MATCHES_NONE = "matches_none"  # of anyOf
    MATCHES_NOT_ONE = "matches_not_one"  # of oneOf
    MATCHES_NOT = "matches_not"  # what `not` excludes

    NAME_REQUIRED = "name_required"
    NAME_TOO_LONG = "name_too_long"  # [most, part]
    INVALID_DNS_LABEL = "invalid_dns_label"
    INVALID_DNS_SUBDOMAIN = "invalid_dns_subdomain"
    INVALID_DNS1035_LABEL = "invalid_dns1035_label"
    INVALID_LABEL_KEY = "invalid_label_key"
    INVALID_LABEL_VALUE = "invalid_label_value"
    EMPTY_PREFIX = "empty_prefix"
    INVALID_ENV_NAME = "invalid_env_name"
    INVALID_CONFIG_KEY = "invalid_config_key"
    RESERVED_CONFIG_KEY = "reserved_config_key"
    RESERVED_PREFIX = "reserved_prefix"
    RESERVED_PATH_SEGMENT = "reserved_path_segment"
    INVALID_PATH_SEGMENT = "invalid_path_segment"  # [sign]
    EMPTY_OWNER_FIELD = "empty_owner_field"
    TWO_PROPAGATIONS = "two_propagations"  # a deletion that waits for the dependents, and one that leaves them
    SECOND_CONTROLLER = "second_controller"  # [first, second]

    NEGATIVE = "negative"
    OUT_OF_RANGE = "out_of_range"  # [low, high]
    NOT_UNIQUE = "not_unique"
    NUL_CHARACTER = "nul_character"
    NOT_RELATIVE = "not_relative"
    LEAVES_VOLUME = "leaves_volume"
    INVALID_SUB_PATH = "invalid_sub_path"
    VALUE_AND_SOURCE = "value_and_source"
    NOT_ONE_SOURCE = "not_one_source"
    FIELD_AND_RESOURCE = "field_and_resource"
    INVALID_MODE = "invalid_mode"
    CONFLICTING_FILE = "conflicting_file"
    INVALID_DIVISOR = "invalid_divisor"  # [resource, allowed]
    INVALID_QUANTITY = "invalid_quantity"
    ABOVE_LIMIT = "above_limit"  # [resource, limit]
    NO_HANDLER = "no_handler"  # of a probe or a hook [known]
    SECOND_HANDLER = "second_handler"  # [first]
    NOT_OF_INIT = "not_of_init"  # what an init container cannot have that ends
    NOT_OF_READINESS = "not_of_readiness"
    NOT_ONE = "not_one"
    NOT_POSITIVE = "not_positive"
    SLEEP_TOO_LONG = "sleep_too_long"  # [most: seconds]


class Key(str):
    """A step of a path that is the key of a map, not a field: Kubernetes writes `limits[cpu]`."""

    __slots__ = ()


Path = tuple[str | int, ...]
"""From the root of the object: names of fields, indices, and `Key`s."""


@dataclass(frozen=True, slots=True)
class FieldError:
    """One wrong field and its value."""

    code: Code
    path: Path
    value: Any = None
    args: Mapping[str, Any] = field(default_factory=dict)
