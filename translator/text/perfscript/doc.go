// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package perfscript translates the text output of Linux perf script to OTLP profiles: samples with their thread, CPU,
// time, period, event and stack.
package perfscript // import "github.com/otelpprof/otelpprof/translator/text/perfscript"
