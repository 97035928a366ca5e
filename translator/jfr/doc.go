// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package jfr translates recordings of JDK Flight Recorder, which the JDK, async-profiler and the agents of Pyroscope and Datadog
// write, to OTLP profiles.
//
// [Decoder] makes a profile of each kind of event and each value that it has: CPU time, wall-clock time, allocations, live
// objects, waiting for locks, native memory. They have the names that Pyroscope gives them. Each event keeps its time; events
// of the same stack, thread, labels and span are one sample. A recording is parsed once, by github.com/grafana/jfr-parser,
// after its structure has been checked against limits. A Decoder is safe for concurrent use.
package jfr // import "github.com/otelpprof/otelpprof/translator/jfr"
