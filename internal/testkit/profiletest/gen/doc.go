// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package gen makes profiles for tests and benchmarks.
//
// [Pprof] and [Profiles] are rapid generators of arbitrary profiles that keep the rules, [Disarrange] rearranges a message without changing
// its meaning, and [Break] breaks one rule of a message.
package gen // import "github.com/otelpprof/otelpprof/internal/testkit/profiletest/gen"
