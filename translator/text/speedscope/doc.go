// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package speedscope translates files of speedscope, a profile viewer, to OTLP profiles. Many profilers write this JSON
// format: a list of frames, and profiles that are either weighted stacks or events that open and close frames.
package speedscope // import "github.com/otelpprof/otelpprof/translator/text/speedscope"
