// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package collapsed translates collapsed stacks to OTLP profiles. It reads the text that stackcollapse scripts and many
// profilers write: one stack on each line, root first, with semicolons between the frames. It also reads the two binary
// forms that older Pyroscope clients send.
package collapsed // import "github.com/otelpprof/otelpprof/translator/text/collapsed"
