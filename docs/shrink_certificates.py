"""Take the processing times out of certificates of benchmark instances.

``python docs/shrink_certificates.py FILES``: the times are most of a large one. Whoever
checks it has the benchmark's own file, to which the digest ties it.
"""

import sys
from pathlib import Path

from dpbb.flowshop.best_known import best_known_of_digest
from dpbb.proof.certificate import Certificate


def shrink(path: Path) -> None:
    """Write one again without times, if it is called like the benchmark's instance."""
    certificate = Certificate.read(path)
    about = certificate.content["instance"]
    known = best_known_of_digest(about["digest"])
    if known is not None and known.name == about["name"] and about.pop("times", None):
        certificate.write(path)


if __name__ == "__main__":
    for name in sys.argv[1:]:
        shrink(Path(name))
