"""Names for values whose types are known at run time only, so that no type checker follows them."""

from typing import Any, TypeAlias

JsonValue: TypeAlias = Any  # Any: parsed JSON; what it holds is asked for step by step
ColumnValue: TypeAlias = Any  # Any: a plain value; a schema says of which type
ParsedRecord: TypeAlias = Any  # Any: an object of a class that msgspec makes of a schema
ParserType: TypeAlias = Any  # Any: a type that is put together at run time, for the parser
Integer: TypeAlias = Any  # Any: a number of 64 bits in compiled code, of Python or of numpy
