#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Holds the checksums in images/pins.json against the official archives of Node.js, whose list is signed by its release team.
set -euo pipefail
version="v$(node --print 'require("./images/pins.json").node.version')"
folder="$(mktemp -d)"
trap 'rm -r "$folder"' EXIT
official="https://nodejs.org/dist/$version"
curl --fail --silent --show-error --location --output "$folder/keyring" \
  https://github.com/nodejs/release-keys/raw/HEAD/gpg/pubring.kbx
curl --fail --silent --show-error --output "$folder/list.asc" "$official/SHASUMS256.txt.asc"
gpgv --keyring "$folder/keyring" --output "$folder/list" "$folder/list.asc"
for pair in linux/amd64:linux-x64 linux/arm64:linux-arm64; do
  name="node-$version-${pair#*:}"
  curl --fail --silent --show-error --output "$folder/$name.tar.xz" "$official/$name.tar.xz"
  (cd "$folder" && grep " $name.tar.xz\$" list | sha256sum --check)
  tar --extract --xz --file "$folder/$name.tar.xz" --directory "$folder" "$name/bin/node"
  PATH="$PWD/node_modules/.bin:$PATH" node images/src/main.ts --platform="${pair%%:*}" --check-node="$folder/$name/bin/node"
done
