"""Sets how long Hypothesis searches."""

from tests.helpers.search_depth import choose_search_depth

choose_search_depth()
