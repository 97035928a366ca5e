#!/bin/sh
# Writes the list of parts of a binary as CycloneDX: sbom.sh BINARY DOCUMENT. goreleaser runs it in the folder dist.
set -eu
binary=$(realpath "$1")
document=$(realpath -m "$2")
cd "$(dirname "$(realpath "$0")")/.."
exec _build/tools/inventory -binary "$binary" >"$document"
