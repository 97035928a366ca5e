// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build race

package pprofreceiver

// slowdown multiplies the time limits of the tests: the race detector makes them slower.
const slowdown = 5
