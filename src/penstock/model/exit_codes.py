"""Exit codes: which one is returned when several feeds have one each."""

from collections.abc import Iterable

HALTED = 5  # a feed waits for an operator
REFUSED = 2  # only another configuration can mend it
FAILED = 1  # for a cause that may pass

# The errors that end with REFUSED, by their codes: all that is known of an error in the lake.
REFUSED_CODES = frozenset(
    {
        "ADDRESS_REFUSED",
        "BAD_KEY",
        "CONFIG_INVALID",
        "CONVERT_REFUSED",
        "DATASET_UNKNOWN",
        "DEMO_PARTS_MISSING",
        "DEMO_REFUSED",
        "EXPORT_REFUSED",
        "EXTRA_MISSING",
        "FIXED_REFUSED",
        "FORMAT_CHANGED",
        "JARS_MISSING",
        "JARS_UNREACHABLE",
        "JAR_CHANGED",
        "JAVA_MISSING",
        "JAVA_WRONG",
        "JVM_FAILED",
        "KEYS_TOO_LONG",
        "LAKE_INSIDE_LAKE",
        "PARTITION_CHANGED",
        "PLUGIN",
        "PLUGIN_AMBIGUOUS",
        "PLUGIN_BROKEN",
        "PLUGIN_UNKNOWN",
        "REGISTRY_REFUSED",
        "REGISTRY_WRONG",
        "RESET_REFUSED",
        "SCHEMA_REFUSED",
        "SPARK_FAILED",
        "START_BEYOND_LOG",
        "START_INCOMPLETE",
        "START_NOT_RESOLVED",
        "STORE_SETTING_UNKNOWN",
        "STORE_SETTING_WRONG",
        "STORE_UNFIT",
        "TOKEN_MISSING",
        "TOKEN_REFUSED",
        "USAGE",
    }
)


def worst(codes: Iterable[int]) -> int:
    """The exit code that says most: a feed that needs a person before one that just failed."""
    found = set(codes)
    return next((code for code in (HALTED, 3, 4, 2, 75, 1) if code in found), 0)
