"""How long Hypothesis searches: HYPOTHESIS_PROFILE=thorough looks twenty times as hard."""

import os

from hypothesis import settings

# In CI the same examples every time, so that a red build is about the change and not about luck.
_IN_CI = os.environ.get("CI") == "true"

settings.register_profile("dev", max_examples=100, deadline=None, derandomize=_IN_CI)
settings.register_profile("thorough", max_examples=2000, deadline=None, derandomize=_IN_CI)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "dev"))
