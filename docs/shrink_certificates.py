"""Take the processing times out of certificates of benchmark instances.

``python docs/shrink_certificates.py FILES``: the times are most of a large one. Whoever
checks it has the benchmark's own file, to which the digest ties it.
"""

import gzip
import json
import sys
from pathlib import Path

from dpbb.flowshop.best_known import best_known_of_digest
from dpbb.proof.certificate import Certificate


def shrink(path: Path) -> None:
    """Write one again, without times if it is called like the benchmark's instance."""
    content = Certificate.read(path).content
    about = content["instance"]
    known = best_known_of_digest(about["digest"])
    if known is not None and known.name == about["name"]:
        about.pop("times", None)
    text = json.dumps(content, separators=(",", ":"))
    path.write_bytes(gzip.compress(text.encode(), mtime=0))


if __name__ == "__main__":
    for name in sys.argv[1:]:
        shrink(Path(name))
