"""The tests of a module lie where its name says."""

from fnmatch import fnmatch
from pathlib import Path

TESTS = Path(__file__).parent
PACKAGE = TESTS.parents[1] / "dpbb"

EXCEPTIONS = {
    "test_docs.py": "of the pages in docs/",
    "test_hangs.py": "of tests/conftest.py",
    "test_layout.py": "of the tests themselves",
    "test_package.py": "of what `import dpbb` does",
    "test_results.py": "of the folder results/",
    "campaign/test_checking.py": "of records that somebody has changed",
    "engines/test_refusals.py": "of all engines",
    "flowshop/test_subclasses.py": "of subclasses, which are problems of their own",
    "jobshop/test_cuda_sources.py": "of its CUDA sources",
    "plotting/test_critical.py": "of the paths that charts mark",
    "proof/test_forgeries.py": "of what every verifier of certificates refuses",
    "proof/test_small.py": "of certificates without the times of their benchmark",
    "test_seams.py": "of who names flow shops",
}
"""Files that have no module of their name, and why; patterns are allowed."""


def test_every_file_of_unit_tests_has_its_module():
    strays = [
        str(name)
        for name in (path.relative_to(TESTS) for path in TESTS.rglob("test_*.py"))
        if not (PACKAGE / name.parent / name.name.removeprefix("test_")).exists()
        and not any(fnmatch(str(name), pattern) for pattern in EXCEPTIONS)
    ]
    assert strays == []


def test_no_exception_is_for_nothing():
    assert [name for name in EXCEPTIONS if not [*TESTS.glob(name)]] == []
