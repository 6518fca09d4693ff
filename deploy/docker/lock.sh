#!/bin/sh
# Lock what the images install, before a release or a build: pip install uv, call this.
set -eu
cd "$(dirname "$0")/../.."
for image in cpu cuda12 cuda13; do
    extra=$([ $image = cpu ] || echo "--extra $image")
    # shellcheck disable=SC2086 # two words, or none
    uv pip compile --quiet --upgrade --universal --python-version 3.11 \
        --generate-hashes --no-annotate --no-header \
        --extra prometheus $extra pyproject.toml \
        --output-file deploy/docker/locked/$image.txt
done
