// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build race

package memorybudgetextension

// slowdown is how many times longer than a program without the race detector these tests may take.
const slowdown = 5
