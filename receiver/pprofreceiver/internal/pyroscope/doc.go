// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package pyroscope parses what Pyroscope's clients send with the profile: name, times and the configuration of sample
// types.
package pyroscope
