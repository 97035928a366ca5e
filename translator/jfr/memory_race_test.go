// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build race

package jfr

import "testing"

// checkMemory only translates: the race detector allocates, too.
func checkMemory(tb testing.TB, recording, labels []byte) {
	tb.Helper()
	if _, _, err := NewDecoder(Options{}).Decode(recording, Source{Labels: labels}); err != nil && !isOfRecording(err) {
		tb.Fatal(err)
	}
}
