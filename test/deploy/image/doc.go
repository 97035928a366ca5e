// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package image builds the image of the Dockerfile, and runs it as a careful operator does: read-only, as its own user,
// without capabilities, in little memory. It needs Linux, root, buildah, podman and crun.
//
// No registry is asked. The base image of the first stage is a stand-in: it has the certificates and the environment of the
// real one, and the build sees the programs and the Go caches of the machine.
package image
