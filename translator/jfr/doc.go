// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package jfr translates recordings of JDK Flight Recorder, which the JDK, async-profiler and the agents of Pyroscope and Datadog
// write, to OTLP profiles.
//
// A [Decoder] makes a profile for each kind of event and each value of that: CPU time, wall-clock time, allocations, live objects,
// waiting for locks, native memory. The profiles have the same names as in Pyroscope. Each event keeps its time. Events with the same
// stack, thread, labels and span become one sample. The decoder first checks the structure of a recording against [Limits]. Then
// github.com/grafana/jfr-parser parses it once. A Decoder is safe for concurrent use.
package jfr // import "github.com/otelpprof/otelpprof/translator/jfr"
