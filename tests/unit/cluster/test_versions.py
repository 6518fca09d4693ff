"""Only the same dpbb will do."""

import pytest

from dpbb.cluster.versions import check_versions, scheduler_probe, versions
from dpbb.errors import ClusterError


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("dpbb", "expected dpbb version"),
        ("protocol", "expected message protocol version"),
        ("tree_rule", "expected tree rule version"),
    ],
)
def test_every_other_version_is_refused(key, text):
    """The message names place, host, both versions and the fix."""
    with pytest.raises(ClusterError, match=text) as error:
        check_versions({**versions(), key: "other", "host": "node7"}, "worker tcp://x")
    message = str(error.value)
    for part in ("worker tcp://x", "host node7", "got other", "PipInstall", "image"):
        assert part in message


def test_probe_needs_no_dpbb_to_be_unpickled():
    """It is pickled by value."""
    import cloudpickle

    pickled = cloudpickle.dumps(scheduler_probe())
    assert b"scheduler_probe.<locals>" in pickled  # a name, not a reference
    assert b"_make_function" in pickled
