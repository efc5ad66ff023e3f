"""Expressions of RE2, as Arrow has it. Imported only where a configuration has an expression."""

import pyarrow as pa
import pyarrow.compute as pc


def compile_expression(expression: str) -> None:
    """Compile it; raises `ValueError` with RE2's words, or for text that cannot be encoded."""
    pc.match_substring_regex(pa.scalar(""), expression)  # without any text, it is not compiled
