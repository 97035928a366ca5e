// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package perfscript translates the text that the command perf script of Linux prints to OTLP profiles: samples with their
// thread, processor, time, period and event, and their stacks.
package perfscript // import "github.com/otelpprof/otelpprof/translator/perfscript"
