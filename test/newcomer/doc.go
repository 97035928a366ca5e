// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package newcomer does what a platform engineer does in the first hour, with the built distribution: it pastes the blocks of the README
// into a shell, uploads the files of common profilers without naming their formats, and builds a Collector with contrib's components.
// What such a user is told about a wrong configuration is in test/configuration, and about wrong values of the Helm chart in test/deploy.
package newcomer
