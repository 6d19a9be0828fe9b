#!/usr/bin/env bash
# Builds the stand-in for citusdata/citus:13, to try docker-compose.citus.yml where no registry can be reached. Needs root, and the folder
# `shared` beside the checkout. Run it, then: docker-compose -f docker-compose.citus.yml up --build
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
shared=$(cd "$here/../../../shared" && pwd)
"$shared/docker/local-images.sh"
context=$(mktemp -d)
trap 'rm -rf "$context"' EXIT
cp "$here/citus-image.Dockerfile" "$context/Dockerfile"
cp "$shared/docker/postgres-entrypoint.sh" "$context/"
cp "$shared"/citus/citus-pg15-*.tar.gz "$context/citus.tar.gz"
DOCKER_BUILDKIT=0 docker build -q -t citusdata/citus:13 "$context"
