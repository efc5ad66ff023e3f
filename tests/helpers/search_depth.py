"""How long Hypothesis searches: HYPOTHESIS_PROFILE=thorough looks twenty times as hard.

The conftest of every folder with such tests calls it, and no other one: importing Hypothesis takes
longer than most unit tests.
"""

import os

from hypothesis import settings


def choose_search_depth() -> None:
    """Load the profile that the environment names, `dev` without one."""
    # In CI the same examples every time: a red build is about the change and not about luck.
    in_ci = os.environ.get("CI") == "true"
    settings.register_profile("dev", max_examples=100, deadline=None, derandomize=in_ci)
    settings.register_profile("thorough", max_examples=2000, deadline=None, derandomize=in_ci)
    settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "dev"))
