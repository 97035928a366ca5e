// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profiletest

import (
	"bytes"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestCorpusSkipsOrFails(t *testing.T) {
	for _, test := range []struct{ require, want string }{{"", "skipped"}, {"1", "failed"}, {"0", "skipped"}} {
		t.Setenv(corpusVariable, "")
		t.Setenv(requireVariable, test.require)
		outcome := &outcomeRecorder{TB: t}
		done := make(chan struct{})
		go func() {
			defer close(done)
			Corpus(outcome) //nolint:testifylint // it never gets to its assertions
		}()
		<-done
		require.Equal(t, test.want, outcome.outcome)
	}
}

// outcomeRecorder stands in for a test and ends its goroutine as a test would.
type outcomeRecorder struct {
	testing.TB
	outcome string
}

func (r *outcomeRecorder) Fatalf(string, ...any) {
	r.outcome = "failed"
	runtime.Goexit()
}

func (r *outcomeRecorder) Skipf(string, ...any) {
	r.outcome = "skipped"
	runtime.Goexit()
}

// TestCorpusPprofs holds the comparison against real profiles, which are the same after google/pprof wrote them anew, and
// counts what the corpus is known to hold at least, so that no test passes for want of input.
func TestCorpusPprofs(t *testing.T) {
	forms := map[Form]int{}
	for _, file := range CorpusPprofs(t, "real", "edge") {
		if len(file.Bytes(t)) > 1<<20 {
			continue // the tests of the translator read these
		}
		p, form := file.Parse(t)
		forms[form]++
		if form == Refused {
			continue
		}
		var written bytes.Buffer
		require.NoError(t, p.WriteUncompressed(&written))
		again, form := ParsePprof(written.Bytes())
		require.Equal(t, Proto, form, file.Name)
		require.Empty(t, DiffPprof(p, again), file.Name)
	}
	assert.Greater(t, forms[Proto], 100)
	assert.Greater(t, forms[Legacy], 10)
	assert.Greater(t, forms[Refused], 15)
}

// TestCorpusMessages holds the check against messages of other producers: the eBPF profiler keeps the rules of the
// protocol. Older ones let the profile end at its last timestamp, which is then outside.
func TestCorpusMessages(t *testing.T) {
	messages := CorpusMessages(t)
	require.Greater(t, len(messages), 190)
	for _, message := range messages {
		require.Empty(t, Diff(message.Profiles, message.Profiles), message.Name)
		err := CheckOptions{Untidy: true, AllowTimestampsOutside: strings.HasPrefix(message.Name, "sigprof")}.Check(message.Profiles)
		if message.Name == "ottl-playground.json" {
			require.ErrorContains(t, err, "function_table[0]: is missing")
			continue
		}
		require.NoError(t, err, message.Name)
	}
}

func TestClientPayloads(t *testing.T) {
	payloads := ClientPayloads(t)
	require.Len(t, payloads, 29)
	for _, payload := range payloads {
		require.NotEmpty(t, payload.Data, payload.File)
		if bytes.HasPrefix(payload.Data, []byte{0x28, 0xb5, 0x2f, 0xfd}) { // zstd, which google/pprof does not read
			continue
		}
		p, form := ParsePprof(payload.Data)
		if payload.Legacy {
			require.Equal(t, Legacy, form, payload.File)
			continue
		}
		require.Equal(t, Proto, form, payload.File)
		require.Len(t, p.Sample, payload.Samples)
		require.Len(t, p.SampleType, len(payload.SampleTypes))
		require.Equal(t, payload.Time, p.TimeNanos)
	}
}

func TestCapturesHaveHeaders(t *testing.T) {
	for _, capture := range Captures(t) {
		require.NotEmpty(t, capture.StartLine)
		require.NotEmpty(t, capture.Header, capture.Name)
		if capture.Name == "pyroscope-go/05-cpu" {
			require.Contains(t, capture.StartLine, "POST /ingest?")
			require.Equal(t, "team-a", capture.Header.Get("X-Scope-OrgID"))
		}
	}
}
