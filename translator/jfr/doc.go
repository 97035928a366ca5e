// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package jfr translates recordings of JDK Flight Recorder, which the JDK, async-profiler and the agents of Pyroscope and Datadog
// write, to OTLP profiles.
//
// A [Decoder] makes a profile for each kind of event and each value of that: CPU time, wall-clock time, allocations, live objects,
// waiting for locks, native memory. The profiles have the same names as in Pyroscope. Each event keeps its time. Events with the same
// stack, thread, labels and span become one sample. A Decoder first finds the constants of a recording, counts its events and reads their
// settings. Then it knows the memory that they need, and translates them. It is safe for concurrent use.
package jfr // import "github.com/otelpprof/otelpprof/translator/jfr"
