"""The long search for a payload that does harm; `make fuzz`."""

from hypothesis import HealthCheck, settings

# Before the tests are imported, because they take their settings when they are.
settings.register_profile(
    "fuzz",
    max_examples=300,
    deadline=None,
    database=None,
    print_blob=True,
    suppress_health_check=list(HealthCheck),
)
settings.load_profile("fuzz")
