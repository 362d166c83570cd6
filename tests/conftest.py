"""Settings shared by every room of the tests."""

from __future__ import annotations

import os

from hypothesis import settings

# The default run tries the same examples every time, so that a red test is never luck; the long form explores.
settings.register_profile("default", deadline=None, derandomize=True)
settings.register_profile("long", deadline=None, max_examples=5_000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))
