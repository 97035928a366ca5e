// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !race

package splunk

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/plog"
)

// reserved translates with a new Decoder, and returns how much it reserved and how much it allocated.
func reserved(t *testing.T, options Options, logs plog.Logs) (total, allocated int64, result Result) {
	t.Helper()
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	NewDecoder(options).Decode(logs, received)
	decoder := NewDecoder(options)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, result = decoder.DecodeReserving(logs, received, func(n int64) error {
		if n < total { // An assertion would allocate memory.
			t.Errorf("the total decreases from %d to %d", total, n)
		}
		total = n
		return nil
	})
	runtime.ReadMemStats(&after)
	return total, int64(after.TotalAlloc - before.TotalAlloc), result
}

// hostileRecords has requests with many entries of one kind.
func hostileRecords(t *testing.T) map[string]plog.Logs {
	t.Helper()
	record := func(raw []byte) plog.Logs {
		r := newRequest("nodejs")
		r.addPprof(base64.StdEncoding.EncodeToString(compress(t, raw)))
		return r.logs
	}
	text := newRequest("java")
	frames := &strings.Builder{}
	for i := range 10_000 {
		fmt.Fprintf(frames, "f%d(F%d.java:%d)\n", i, i, i)
	}
	for range 3 {
		text.addText(frames.String())
	}
	keys := newPayload("")
	values := newPayload("")
	for s := range 20 {
		labels, numbers := make([]label, 1000), make([]label, 1000)
		for i := range labels {
			labels[i], numbers[i] = str(fmt.Sprint("k", s*1000+i), "v"), num(fmt.Sprint("k", i), int64(s))
		}
		keys.sample(nil, nil, labels...)
		values.sample(nil, nil, numbers...)
	}
	attributes := newRequest("nodejs")
	attributes.addPprof(onePayload().body(t))
	list := attributes.logs.ResourceLogs().At(0).Resource().Attributes().PutEmptySlice("list")
	for range 200_000 {
		list.AppendEmpty().SetEmptyMap()
	}
	list.CopyTo(attributes.logs.ResourceLogs().At(0).ScopeLogs().At(0).Scope().Attributes().PutEmptySlice("list"))
	scopes, periods := newRequest("java"), newRequest("java")
	for i := range 5_000 {
		scope := scopes.logs.ResourceLogs().At(0).ScopeLogs().AppendEmpty()
		scope.Scope().SetName("otel.profiling")
		scope.Scope().SetVersion(strconv.Itoa(i))
		scope.LogRecords().AppendEmpty().Body().SetStr(oneFrame)
		periods.addText(oneFrame, "source.event.period", i)
	}
	resources, body := newRequest("java"), onePayload().body(t)
	for i := range 5_000 {
		resource := resources.logs.ResourceLogs().AppendEmpty()
		resource.SetSchemaUrl(fmt.Sprintf("https://example.com/schema/%0200d", i))
		scope := resource.ScopeLogs().AppendEmpty()
		scope.Scope().SetName("otel.profiling")
		scope.LogRecords().AppendEmpty().Body().SetStr(body)
	}
	wide := newRequest("java")
	wide.addText(oneFrame)
	addWide(t, wide.logs.ResourceLogs().At(0).Resource().Attributes(), 100_000)
	strings := []byte{6<<3 | 2, 0}
	return map[string]plog.Logs{
		"attributes":     attributes.logs,
		"texts":          text.logs,
		"scopes":         scopes.logs,
		"periods":        periods.logs,
		"resources":      resources.logs,
		"wide resource":  wide.logs,
		"keys":           record(keys.bytes()),
		"numbers":        record(values.bytes()),
		"empty samples":  record(append(strings, bytes.Repeat([]byte{2<<3 | 2, 0}, 200_000)...)),
		"empty strings":  record(bytes.Repeat(strings, 200_000)),
		"empty mappings": record(append(strings, bytes.Repeat([]byte{3<<3 | 2, 0}, 4_000_000)...)),
	}
}

// TestMemoryOfRecords: at least the memory that is used is reserved, and not much more for requests of agents.
func TestMemoryOfRecords(t *testing.T) {
	const slack = 1 << 20 // small garbage, and the decompressors
	for name, logs := range hostileRecords(t) {
		asked, took, _ := reserved(t, Options{}, logs)
		assert.GreaterOrEqual(t, asked+slack, took, name)
	}
	for _, name := range []string{"splunk-otel-java/pprof-v2-snapshot.pb"} {
		asked, took, _ := reserved(t, Options{}, captureOf(t, name))
		assert.GreaterOrEqual(t, asked, took, name)
	}
}

// TestRefusedMemory: a record whose memory is refused is left out. The other records are accepted.
func TestRefusedMemory(t *testing.T) {
	none := errors.New("no more")
	for name, logs := range hostileRecords(t) {
		asked, _, _ := reserved(t, Options{}, logs)
		for part := range int64(4) {
			allowed := asked * part / 4
			_, result := NewDecoder(Options{}).DecodeReserving(logs, received, func(n int64) error {
				if n > allowed {
					return none
				}
				return nil
			})
			if name != "empty mappings" {
				require.NotEmpty(t, result.Refused, "%s: %d", name, part)
				assert.Equal(t, ReasonMemory, result.Refused[0].Reason, name)
				require.ErrorIs(t, result.Refused[0].Err, none)
			}
		}
	}
}

// TestReserveEndsRequest: reserve is called before each record, and its error refuses the rest of the request.
func TestReserveEndsRequest(t *testing.T) {
	const records, allowed = 100, 10
	r := newRequest("java")
	for range records {
		r.addText("\n\nat a(b:1)\n")
	}
	ended := errors.New("the request has ended")
	calls := 0
	_, result := NewDecoder(Options{}).DecodeReserving(r.logs, 1, func(int64) error {
		if calls++; calls > allowed {
			return ended
		}
		return nil
	})
	assert.GreaterOrEqual(t, len(result.Refused), records-allowed)
	assert.Equal(t, ended, result.Refused[len(result.Refused)-1].Err)
}
