#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Pushes what `npm run images` has written, signs every index and every platform's manifest without keys, and attaches the SPDX documents.
# Leaves the list of digests for the provenance in <folder>/subjects.txt.
#     .github/publish-images.sh <folder> <registry>
set -euo pipefail
folder="$1"
registry="$2"
: >"$folder/subjects.txt"
jq --compact-output '.[]' "$folder/images.json" | while read -r image; do
  field() { jq --raw-output "$1" <<<"$image"; }
  name="$(field .name)"
  digest="$(field .digest)"
  for tag in $(field '.tags[]'); do
    skopeo copy --all --preserve-digests "oci:$folder/layout:$(field .reference)" "docker://$registry/$name:$tag"
  done
  cosign sign --yes --recursive "$registry/$name@$digest"
  # `manifests` names the manifest of each platform.
  field '.manifests | to_entries[] | "\(.key) \(.value)"' | while read -r platform manifest; do
    cosign attest --yes --type spdxjson --predicate "$folder/sbom/$name-${platform/\//-}.spdx.json" "$registry/$name@$manifest"
  done
  echo "${digest#sha256:}  $registry/$name" >>"$folder/subjects.txt"
done
