"""A codec that needs an extra of its package."""

import a_module_that_nobody_has  # type: ignore[import-not-found]

CODEC = a_module_that_nobody_has.CODEC
