// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"fmt"
	"io"
	"strconv"
	"strings"
	"testing"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/plog"
)

// event is all that a sample of an agent says but for its weight.
type event struct {
	kind         string
	frames       string
	depth        int
	milliseconds int64
	trace, span  string
	thread       string
}

// events are weights by event. Two that say the same are one, with the sum of their weights.
type events map[event]int64

// addLogs adds what the records with a pprof say and returns how many of them have a sample: an agent that is stopped just
// after it sent sends one without. It reads them with google/pprof, as far as that can: it refuses the tables of Python.
func (e events) addLogs(t *testing.T, logs plog.Logs) (records int) {
	t.Helper()
	for _, resource := range logs.ResourceLogs().All() {
		for _, scope := range resource.ScopeLogs().All() {
			for _, record := range scope.LogRecords().All() {
				if parsed := parseRecord(t, record); parsed != nil && len(parsed.Sample) > 0 {
					e.addRecord(record, parsed)
					records++
				}
			}
		}
	}
	return records
}

// parseRecord returns nil for what google/pprof cannot read.
func parseRecord(t *testing.T, record plog.LogRecord) *profile.Profile {
	t.Helper()
	compressed, err := base64.StdEncoding.DecodeString(record.Body().Str())
	if err != nil {
		return nil
	}
	reader, err := gzip.NewReader(bytes.NewReader(compressed))
	require.NoError(t, err)
	raw, err := io.ReadAll(reader)
	require.NoError(t, err)
	parsed, err := profile.ParseUncompressed(raw)
	if err != nil {
		require.ErrorContains(t, err, "string_table[0] must be ''")
		return nil
	}
	return parsed
}

// attribute returns the text of a record's attribute.
func attribute(record plog.LogRecord, key string) string {
	if value, found := record.Attributes().Get(key); found {
		return value.AsString()
	}
	return ""
}

// addRecord adds the samples of a record, of which some have no value, and hardly any a type.
func (e events) addRecord(record plog.LogRecord, p *profile.Profile) {
	allocation := attribute(record, "profiling.data.type") == "allocation"
	periods := int64(0)
	for _, sample := range p.Sample {
		periods += number(sample, "source.event.period")
	}
	for _, sample := range p.Sample {
		found := eventOf(sample)
		found.milliseconds = number(sample, "source.event.time")
		weight := int64(1)
		switch {
		case allocation:
			found.kind, weight = "alloc_space/bytes", sample.Value[0]
		case periods > 0:
			found.kind, weight = "cpu/nanoseconds", number(sample, "source.event.period")*1_000_000
		default:
			found.kind = "samples/count"
		}
		e[found] += weight
	}
}

// addPprof adds the samples of a file.
func (e events) addPprof(t *testing.T, p *profile.Profile) {
	t.Helper()
	require.Len(t, p.SampleType, 1)
	for _, sample := range p.Sample {
		found := eventOf(sample)
		found.kind = p.SampleType[0].Type + "/" + p.SampleType[0].Unit
		at := number(sample, "timestamp")
		require.Positive(t, at)
		require.Zero(t, at%1_000_000)
		found.milliseconds = at / 1_000_000
		e[found] += sample.Value[0]
	}
}

// eventOf returns what a record and a file say in the same way, but for names that mean nothing.
func eventOf(sample *profile.Sample) event {
	var frames strings.Builder
	for _, location := range sample.Location {
		for _, line := range location.Line {
			name, file := line.Function.Name, line.Function.Filename
			switch file {
			case "unknown", "Unknown Source", "Native Method", "native":
				file = ""
			}
			if name == "" && file == "" {
				name = "(anonymous)"
			}
			fmt.Fprintf(&frames, "%s %s:%d\n", name, file, max(line.Line, 0))
		}
	}
	id := number(sample, "thread.id")
	return event{
		frames: frames.String(),
		depth:  len(sample.Location),
		trace:  hexID(sample, "trace_id", 32),
		span:   hexID(sample, "span_id", 16),
		thread: text(sample, "thread.name") + " " + text(sample, "thread.state") + " " + strconv.FormatInt(max(id, 0), 10),
	}
}

// hexID returns an id in full length, nothing for zeros.
func hexID(sample *profile.Sample, key string, digits int) string {
	id := text(sample, key)
	if strings.Trim(id, "0") == "" {
		return ""
	}
	return strings.Repeat("0", digits-len(id)) + id
}

func text(sample *profile.Sample, key string) string {
	if values := sample.Label[key]; len(values) > 0 {
		return values[0]
	}
	return ""
}

// number returns the number of a label, which one agent writes as text.
func number(sample *profile.Sample, key string) int64 {
	if values := sample.NumLabel[key]; len(values) > 0 {
		return values[0]
	}
	n, _ := strconv.ParseInt(text(sample, key), 10, 64)
	return n
}
