// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package collapsed translates collapsed stacks to OTLP profiles: the texts of stackcollapse scripts and many profilers, in which
// a line is a stack, its frames separated by semicolons, the root first; and the two binary forms of them that older clients of
// Pyroscope send.
package collapsed // import "github.com/otelpprof/otelpprof/translator/collapsed"
