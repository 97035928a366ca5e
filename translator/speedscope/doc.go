// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package speedscope translates files of speedscope, a viewer of profiles, to OTLP profiles. Many profilers write them: JSON with
// a list of frames and one profile or several, each as weighted stacks or as events of frames that open and close.
package speedscope // import "github.com/otelpprof/otelpprof/translator/speedscope"
