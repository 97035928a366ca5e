// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package jfrtest writes recordings of JDK Flight Recorder for tests, with the classes and the order of a recording of
// async-profiler.
package jfrtest // import "github.com/otelpprof/otelpprof/internal/testkit/jfrtest"
