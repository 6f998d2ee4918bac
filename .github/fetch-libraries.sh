#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Fills the cache of downloads for images, in a container of the Debian release that they take their libraries from: its apt has a newer
# version where a pinned one has vanished. After `npm ci`.
#     .github/fetch-libraries.sh <cache folder> [--update-pins]
set -euo pipefail
cache="$1"
what="${2:---fetch}"
version="$(sed -n 's/^ARG NODE_VERSION=//p' images/Dockerfile)"
mkdir -p "$cache"
docker run --rm --volume "$PWD:/src" --volume "$cache:/cache" --workdir /src --env CSI_SIDECARS_CACHE=/cache \
  "node:${version}-bookworm" node images/src/main.ts "$what"
sudo chown -R "$(id -u):$(id -g)" "$cache"
