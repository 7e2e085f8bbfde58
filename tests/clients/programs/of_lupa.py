"""What a Lua program returns for an object, as Argo CD runs it: it sees `obj` and returns a table."""

from __future__ import annotations

import json
import sys
from typing import Any

from lupa.lua51 import LuaRuntime, lua_type


def build_table(runtime: Any, value: Any) -> Any:
    if isinstance(value, dict):
        return runtime.table_from({key: build_table(runtime, each) for key, each in value.items()})
    if isinstance(value, list):
        return runtime.table_from([build_table(runtime, each) for each in value])
    return value


def look(program: str, objects: list[Any]) -> list[Any]:
    found = []
    for each in objects:
        runtime = LuaRuntime(unpack_returned_tuples=True)
        runtime.globals().obj = build_table(runtime, each)
        answer = runtime.execute(program)
        assert lua_type(answer) == "table", answer
        found.append([answer["status"], answer["message"]])
    return found


if __name__ == "__main__":
    print(json.dumps(look(**json.load(sys.stdin))))
