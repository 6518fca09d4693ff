"""Times as settings of Dask."""

import dask.config
import pytest

from dpbb.cluster.timeouts import DEFAULTS, timeout


@pytest.mark.parametrize(("given", "seconds"), [(7, 7.0), ("2m", 120.0)])
def test_a_setting_comes_before_its_default(given, seconds):
    assert timeout("rpc") == DEFAULTS["rpc"]
    with dask.config.set({"dpbb.timeouts.rpc": given}):
        assert timeout("rpc") == seconds
