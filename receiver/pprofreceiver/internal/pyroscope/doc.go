// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package pyroscope reads what Pyroscope's clients say beside the profile: name, times and the configuration of sample
// types.
package pyroscope
