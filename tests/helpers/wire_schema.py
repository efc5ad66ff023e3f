"""The form in which a class lies in the lake, as text that changes whenever the form does.

Names of classes do not lie in the lake, so they are not part of it; nor is the order of fields.
Imports nothing of Penstock, so that it can describe the classes of any version.
"""

import hashlib
import json
from typing import Any

import msgspec
from msgspec import inspect


def wire_hash(root: type) -> str:
    """A short hash of every class that can be met inside `root`, field by field."""
    found: dict[str, Any] = {}
    _describe(inspect.type_info(root), found, {})
    return hashlib.sha256(json.dumps(found, sort_keys=True).encode()).hexdigest()[:16]


def wire_classes(root: type) -> set[str]:
    """The names of these classes."""
    numbers: dict[type, str] = {}
    _describe(inspect.type_info(root), {}, numbers)
    return {each.__name__ for each in numbers}


def _describe(kind: inspect.Type, found: dict[str, Any], numbers: dict[type, str]) -> Any:
    """The description of one type; a class goes into `found` and is named by its number."""
    if isinstance(kind, inspect.StructType):
        if kind.cls not in numbers:
            numbers[kind.cls] = number = f"class {len(numbers)}"
            found[number] = {
                "tag": [kind.tag_field, kind.tag],
                "strict": kind.forbid_unknown_fields,
                "array": kind.array_like,
                "fields": {
                    field.encode_name: [_describe(field.type, found, numbers), _default(field)]
                    for field in sorted(kind.fields, key=lambda field: field.encode_name)
                },
            }
        return numbers[kind.cls]
    if isinstance(kind, inspect.EnumType):
        return {"EnumType": [member.value for member in kind.cls]}
    parts = {name: getattr(kind, name) for name in type(kind).__struct_fields__}
    inside = {
        name: _inside(value, found, numbers) for name, value in parts.items() if value is not None
    }
    return {type(kind).__name__: inside}


def _inside(value: Any, found: dict[str, Any], numbers: dict[type, str]) -> Any:
    if isinstance(value, inspect.Type):
        return _describe(value, found, numbers)
    if isinstance(value, tuple):
        return [_inside(each, found, numbers) for each in sorted(value, key=_order)]
    return value


def _order(member: Any) -> tuple[str, str]:
    """A fixed order of the members of a union, since their order says nothing."""
    tag = member.tag if isinstance(member, inspect.StructType) else member
    return type(member).__name__, str(tag)


def _default(field: inspect.Field) -> Any:
    if field.required:
        return "required"
    if field.default is not msgspec.NODEFAULT:
        return {"default": msgspec.to_builtins(field.default, str_keys=True)}
    return {"default": msgspec.to_builtins(field.default_factory(), str_keys=True)}
