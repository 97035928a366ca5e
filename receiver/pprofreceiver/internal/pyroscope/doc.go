// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package pyroscope parses the parameters that Pyroscope's clients send with a profile: name, times and the configuration
// of sample types.
package pyroscope
