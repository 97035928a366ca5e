// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !race

package memorytest

const race = false

// Slowdown multiplies the time limits of tests: the race detector makes them slower.
const Slowdown = 1
