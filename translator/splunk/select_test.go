// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package splunk

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/plog"
)

// mixedLogs returns logs of three scopes in two resources, with alternating profiling and other records. All bodies are
// numbers, so that the order can be checked.
func mixedLogs() plog.Logs {
	logs := plog.NewLogs()
	number := 0
	for range 2 {
		resource := logs.ResourceLogs().AppendEmpty()
		resource.SetSchemaUrl("schema")
		for _, scopeName := range []string{"com.acme.Shop", "otel.profiling", "org.slf4j"} {
			scope := resource.ScopeLogs().AppendEmpty()
			scope.Scope().SetName(scopeName)
			for i := range 4 {
				record := scope.LogRecords().AppendEmpty()
				record.Body().SetStr(strconv.Itoa(number))
				record.Attributes().PutStr("com.splunk.sourcetype", []string{"otel", "otel.profiling"}[i%2])
				number++
			}
		}
	}
	return logs
}

func bodiesOf(logs plog.Logs) []string {
	var bodies []string
	for _, resource := range logs.ResourceLogs().All() {
		for _, scope := range resource.ScopeLogs().All() {
			for _, record := range scope.LogRecords().All() {
				bodies = append(bodies, record.Body().AsString())
			}
		}
	}
	return bodies
}

func TestRemoveProfilingLeavesTheRestInOrder(t *testing.T) {
	logs := mixedLogs()
	_, result := NewDecoder(Options{}).Decode(logs, received, nil)
	assert.Equal(t, []int{16, 8}, []int{result.Records, result.OtherRecords})
	assert.Equal(t, 16, RemoveProfiling(logs))
	assert.Equal(t, []string{"0", "2", "8", "10", "12", "14", "20", "22"}, bodiesOf(logs))
	require.Equal(t, 2, logs.ResourceLogs().Len())
	assert.Equal(t, 2, logs.ResourceLogs().At(0).ScopeLogs().Len(), "the scope of which nothing is left goes")
	assert.Equal(t, "schema", logs.ResourceLogs().At(0).SchemaUrl())

	same := plog.NewLogs()
	logs.CopyTo(same)
	assert.Zero(t, RemoveProfiling(logs))
	assert.Equal(t, same, logs)
}

func TestRemoveProfilingKeepsWhatWasEmptyBefore(t *testing.T) {
	r := newRequest("java")
	r.addPprof("x")
	empty := r.logs.ResourceLogs().AppendEmpty()
	empty.ScopeLogs().AppendEmpty()
	assert.Equal(t, 1, RemoveProfiling(r.logs))
	require.Equal(t, 1, r.logs.ResourceLogs().Len())
	assert.Equal(t, 1, r.logs.ResourceLogs().At(0).ScopeLogs().Len())
}

// TestSelection checks how profiling records are recognized.
func TestSelection(t *testing.T) {
	for _, test := range []struct {
		name string
		mark func(resource plog.ResourceLogs, scope plog.ScopeLogs, record plog.LogRecord)
		want bool
	}{
		{"nothing", func(plog.ResourceLogs, plog.ScopeLogs, plog.LogRecord) {}, false},
		{"the scope's name", func(_ plog.ResourceLogs, s plog.ScopeLogs, _ plog.LogRecord) { s.Scope().SetName("otel.profiling") }, true},
		{"another scope's name", func(_ plog.ResourceLogs, s plog.ScopeLogs, _ plog.LogRecord) {
			s.Scope().SetName("otel.profiling.more")
		}, false},
		{"the record", func(_ plog.ResourceLogs, _ plog.ScopeLogs, r plog.LogRecord) {
			r.Attributes().PutStr("com.splunk.sourcetype", "otel.profiling")
		}, true},
		{"the record, as before 1.5", func(_ plog.ResourceLogs, _ plog.ScopeLogs, r plog.LogRecord) {
			r.Attributes().PutStr("sourcetype", "otel.profiling")
		}, true},
		{"the scope", func(_ plog.ResourceLogs, s plog.ScopeLogs, _ plog.LogRecord) {
			s.Scope().Attributes().PutStr("com.splunk.sourcetype", "otel.profiling")
		}, true},
		{"the resource", func(r plog.ResourceLogs, _ plog.ScopeLogs, _ plog.LogRecord) {
			r.Resource().Attributes().PutStr("com.splunk.sourcetype", "otel.profiling")
		}, true},
		{"another source type", func(_ plog.ResourceLogs, _ plog.ScopeLogs, r plog.LogRecord) {
			r.Attributes().PutStr("com.splunk.sourcetype", "otel")
		}, false},
		{"a source type that is no text", func(_ plog.ResourceLogs, _ plog.ScopeLogs, r plog.LogRecord) {
			r.Attributes().PutEmptyBytes("com.splunk.sourcetype").FromRaw([]byte("otel.profiling"))
		}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			logs := plog.NewLogs()
			resource := logs.ResourceLogs().AppendEmpty()
			scope := resource.ScopeLogs().AppendEmpty()
			record := scope.LogRecords().AppendEmpty()
			record.Body().SetStr(onePayload().body(t))
			test.mark(resource, scope, record)

			pd, result := mustDecode(t, logs, Options{})
			removed := RemoveProfiling(logs)
			if test.want {
				assert.Equal(t, 1, removed)
				assert.Equal(t, Result{Records: 1, PprofRecords: 1, Events: 1, Samples: 1, BodyBytes: result.BodyBytes, InflatedBytes: result.InflatedBytes, MessageBytes: result.MessageBytes}, result)
				assert.Len(t, profilesOf(pd), 1)
			} else {
				assert.Zero(t, removed)
				assert.Equal(t, Result{OtherRecords: 1}, result)
				assert.Empty(t, profilesOf(pd))
				assert.Equal(t, 1, logs.LogRecordCount())
			}
		})
	}
}
