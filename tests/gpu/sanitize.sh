#!/bin/sh
# Run compute-sanitizer over small trees. Usage, from the root of the repository, on a
# machine with a CUDA device: sh tests/gpu/sanitize.sh [memcheck|racecheck|...]...
set -e
for tool in ${*:-memcheck racecheck synccheck}; do
    compute-sanitizer --tool "$tool" --error-exitcode 9 python3 -m tests.gpu.small_trees
done
