"""What one Thrift file declares, as it is written there: names are not looked up yet.

What does not change how a record is read is passed over: namespaces, constants, default values,
services and annotations.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from penstock.api.schema_unsupported import SchemaUnsupported
from penstock.datapath.codec.thrift.idl.idl_tokens import Token, TokenKind, idl_error, tokens_of
from penstock.datapath.codec.thrift.types import ThriftEnum, ThriftKind

_DEEPEST_TYPE = 64
_LEAST_INT, _MOST_INT = -(2**31), 2**31 - 1
_BRACKETS = {"{": "}", "[": "]", "(": ")"}
_PLAIN: dict[str, ThriftKind] = {
    "bool": "bool",
    "byte": "i8",
    "i8": "i8",
    "i16": "i16",
    "i32": "i32",
    "i64": "i64",
    "double": "double",
    "string": "string",
    "binary": "binary",
    "uuid": "uuid",
}
_CONTAINERS: dict[str, tuple[ThriftKind, int]] = {
    "list": ("list", 1),
    "set": ("set", 1),
    "map": ("map", 2),
}
_OLD_NAMESPACES = (
    "cpp_namespace",
    "cocoa_prefix",
    "csharp_namespace",
    "delphi_namespace",
    "java_package",
    "perl_package",
    "php_namespace",
    "py_module",
    "ruby_namespace",
    "smalltalk_category",
    "smalltalk_prefix",
    "xsd_namespace",
)
_WANTED = "wanted include, namespace, const, typedef, enum, struct, union, exception or service"


@dataclass(frozen=True, slots=True)
class WrittenType:
    """A type as it is written. `kind` None: `name` is that of a struct, an enum or a typedef."""

    line: int
    kind: ThriftKind | None = None
    name: str = ""
    items: tuple["WrittenType", ...] = ()


@dataclass(frozen=True, slots=True)
class WrittenField:
    """A field of a struct as it is written."""

    line: int
    number: int
    name: str
    type: WrittenType
    required: bool


@dataclass(frozen=True, slots=True)
class WrittenStruct:
    """A struct, a union or an exception as it is written."""

    fields: tuple[WrittenField, ...]
    is_union: bool


@dataclass(slots=True)
class Declarations:
    """What a file includes, with the lines, and declares, by names."""

    includes: list[tuple[int, str]] = field(default_factory=list)
    typedefs: dict[str, WrittenType] = field(default_factory=dict)
    enums: dict[str, ThriftEnum] = field(default_factory=dict)
    structs: dict[str, WrittenStruct] = field(default_factory=dict)


def declarations_of(text: str, file: str) -> Declarations:
    """Read a file; raises SchemaUnsupported, which names the line. `file` is for that alone."""
    return _Parser(text, file).file()


class _Parser:
    """Goes over the words of one file."""

    def __init__(self, text: str, file: str) -> None:
        self._file = file
        self._tokens = list(tokens_of(text, file))
        self._at = 0
        self._found = Declarations()
        self._readers: dict[str, Callable[[Token], None]] = {
            "include": self._include,
            "cpp_include": self._cpp_include,
            "namespace": self._namespace,
            **dict.fromkeys(_OLD_NAMESPACES, self._old_namespace),
            "const": self._const,
            "typedef": self._typedef,
            "enum": self._enum,
            "struct": self._struct,
            "union": self._struct,
            "exception": self._struct,
            "service": self._service,
        }

    def file(self) -> Declarations:
        """All of it."""
        while self._next.kind != "end":
            self._declaration()
            self._separator()
        return self._found

    def _declaration(self) -> None:
        start = self._take("name", _WANTED)
        read = self._readers.get(start.text)
        if read is None:
            raise self._error(start, f"found {start.shown}, {_WANTED}")
        read(start)
        self._annotations()

    def _include(self, start: Token) -> None:
        self._found.includes.append((start.line, self._take("text", "wanted a path").text))

    def _cpp_include(self, _: Token) -> None:
        self._take("text", "wanted a path")

    def _const(self, _: Token) -> None:
        self._type(0)
        self._name()
        self._sign("=")
        self._pass_value()

    def _typedef(self, _: Token) -> None:
        kind = self._type(0)
        self._found.typedefs[self._new_name()] = kind

    def _namespace(self, start: Token) -> None:
        """The language, or a star, and a name, in which Smalltalk allows hyphens."""
        if not self._passes("*"):
            self._name()
        self._old_namespace(start)

    def _old_namespace(self, _: Token) -> None:
        if self._next.kind == "text":
            self._at += 1
            return
        self._name()
        while self._passes("-"):
            self._name()

    def _service(self, _: Token) -> None:
        self._name()
        if self._next.text == "extends":
            self._at += 1
            self._name()
        self._pass_brackets("{")

    def _enum(self, _: Token) -> None:
        name, values, number = self._new_name(), [], 0
        self._sign("{")
        while not self._passes("}"):
            word = self._name()
            if self._passes("="):
                number = self._whole()
            if not _LEAST_INT <= number <= _MOST_INT:
                raise self._error(word, f"the number of {word.text} has more than 32 bits")
            values.append((number, word.text))
            number += 1
            self._annotations()
            self._separator()
        self._found.enums[name] = ThriftEnum(name, tuple(values))

    def _struct(self, start: Token) -> None:
        name = self._new_name()
        if self._next.text == "xsd_all":
            self._at += 1
        self._sign("{")
        fields = []
        while not self._passes("}"):
            fields.append(self._field())
            self._separator()
        self._found.structs[name] = WrittenStruct(tuple(fields), start.text == "union")

    def _field(self) -> WrittenField:
        first = self._next
        number = None
        if first.kind == "number":
            number = self._whole()
            self._sign(":")
        required = self._next.text == "required"
        if self._next.text in {"required", "optional"}:
            self._at += 1
        kind = self._type(0)
        self._passes("&")
        name = self._name().text
        if number is None:
            why = f"the field {name} has no number, so its place would say what it is"
            raise self._error(first, why)
        if self._passes("="):
            self._pass_value()
        self._annotations()
        return WrittenField(first.line, number, name, kind, required)

    def _type(self, depth: int) -> WrittenType:
        word = self._name()
        if depth == _DEEPEST_TYPE:
            raise self._error(word, f"types nest deeper than {_DEEPEST_TYPE} levels")
        if word.text in _CONTAINERS:
            kind, count = _CONTAINERS[word.text]
            found = WrittenType(word.line, kind, items=self._items(count, depth))
        elif word.text in _PLAIN:
            found = WrittenType(word.line, _PLAIN[word.text])
        else:
            found = WrittenType(word.line, name=word.text)
        self._cpp_type()
        self._annotations()
        return found

    def _items(self, count: int, depth: int) -> tuple[WrittenType, ...]:
        """The types between the angles behind a list, set or map."""
        self._cpp_type()
        self._sign("<")
        found = [self._type(depth + 1)]
        while len(found) < count:
            self._sign(",")
            found.append(self._type(depth + 1))
        self._sign(">")
        return tuple(found)

    def _cpp_type(self) -> None:
        if self._next.text == "cpp_type" and self._next.kind == "name":
            self._at += 1
            self._take("text", "wanted a type of C++")

    def _annotations(self) -> None:
        if self._next == Token("sign", "(", self._next.line):
            self._pass_brackets("(")

    def _pass_value(self) -> None:
        """Step over the value of a constant, or of a default."""
        if self._next.is_value:
            self._at += 1
        elif self._next.text in {"[", "{"}:
            self._pass_brackets(self._next.text)
        else:
            raise self._error(self._next, f"found {self._next.shown}, wanted a value")

    def _pass_brackets(self, opening: str) -> None:
        """Step over all that is in brackets."""
        first = self._sign(opening)
        open_ones = [_BRACKETS[opening]]
        while open_ones:
            token = self._next
            if self._at == len(self._tokens) - 1:
                raise self._error(first, f"`{opening}` is not closed")
            self._at += 1
            if token.kind != "sign":
                continue
            if token.text in _BRACKETS:
                open_ones.append(_BRACKETS[token.text])
            elif token.text == open_ones[-1]:
                open_ones.pop()
            elif token.text in _BRACKETS.values():
                raise self._error(token, f"found {token.shown}, wanted `{open_ones[-1]}`")

    def _new_name(self) -> str:
        """The name of a declaration, which may be declared once."""
        word, known = self._name(), self._found
        if word.text in known.typedefs or word.text in known.enums or word.text in known.structs:
            raise self._error(word, f"{word.text} is declared twice")
        return word.text

    def _whole(self) -> int:
        token = self._take("number", "wanted a whole number")
        try:
            return int(token.text, 0)
        except ValueError:
            pass
        try:
            return int(token.text)  # with zeros in front, which are no octal digits here
        except ValueError:
            raise self._error(token, f"found {token.shown}, wanted a whole number") from None

    def _name(self) -> Token:
        return self._take("name", "wanted a name")

    def _sign(self, wanted: str) -> Token:
        token = self._next
        if token.kind != "sign" or token.text != wanted:
            raise self._error(token, f"found {token.shown}, wanted `{wanted}`")
        self._at += 1
        return token

    def _passes(self, sign: str) -> bool:
        """Step over a sign, if it is there."""
        if self._next.kind == "sign" and self._next.text == sign:
            self._at += 1
            return True
        return False

    def _separator(self) -> None:
        """A comma or a semicolon, which nobody has to write."""
        _ = self._passes(",") or self._passes(";")

    def _take(self, kind: TokenKind, wanted: str) -> Token:
        token = self._next
        if token.kind != kind:
            raise self._error(token, f"found {token.shown}, {wanted}")
        self._at += 1
        return token

    @property
    def _next(self) -> Token:
        return self._tokens[self._at]

    def _error(self, token: Token, why: str) -> SchemaUnsupported:
        return idl_error(self._file, token.line, why)
