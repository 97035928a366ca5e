// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package splunk

import (
	"encoding/base64"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
	"github.com/otelpprof/otelpprof/internal/wire/pprofwire"
)

// payload builds a pprof as agents write it.
type payload struct {
	strings []string
	fields  []byte
	entries uint64
}

// newPayload returns a pprof whose first string is this one. It is empty, except in Python's payloads.
func newPayload(first string) *payload { return &payload{strings: []string{first}} }

func (p *payload) string(s string) uint32 {
	for i, known := range p.strings {
		if known == s {
			return uint32(i)
		}
	}
	p.strings = append(p.strings, s)
	return uint32(len(p.strings) - 1)
}

// sampleType adds a sample type.
func (p *payload) sampleType(name, unit string) {
	p.fields = pprofwire.AppendSampleType(p.fields, pprofwire.ValueType{Type: p.string(name), Unit: p.string(unit)})
}

// location adds a function and a location in it, and returns the id of the location.
func (p *payload) location(function, file string, line int64) uint64 {
	p.entries++
	p.fields = pprofwire.AppendFunction(p.fields, pprofwire.Function{ID: p.entries, Name: p.string(function), Filename: p.string(file)})
	p.fields = pprofwire.AppendLocation(p.fields, pprofwire.Location{ID: p.entries}, []pprofwire.Line{{FunctionID: p.entries, Line: line}})
	return p.entries
}

// label is a label of a sample: a text if it is not empty, else a number.
type label struct {
	key, text, unit string
	number          int64
}

func str(key, text string) label         { return label{key: key, text: text} }
func num(key string, number int64) label { return label{key: key, number: number} }
func at(millis int64) label              { return num("source.event.time", millis) }
func period(millis int64) label          { return num("source.event.period", millis) }

// sample adds a sample.
func (p *payload) sample(stack []uint64, values []int64, labels ...label) {
	var ids, encoded []byte
	for _, id := range stack {
		ids = pprofwire.AppendID(ids, uint32(id))
	}
	for _, l := range labels {
		wire := pprofwire.Label{Key: p.string(l.key), Num: l.number}
		if l.text != "" {
			wire.Str = p.string(l.text)
		}
		if l.unit != "" {
			wire.NumUnit = p.string(l.unit)
		}
		encoded = pprofwire.AppendLabel(encoded, wire)
	}
	p.fields = pprofwire.AppendSample(p.fields, ids, values, encoded)
}

// bytes returns the pprof without compression.
func (p *payload) bytes() []byte {
	raw := append([]byte(nil), p.fields...)
	for _, s := range p.strings {
		raw = pprofwire.AppendString(raw, s)
	}
	return raw
}

func (p *payload) gzip(tb testing.TB) []byte {
	tb.Helper()
	return profiletest.Gzip(tb, p.bytes())
}

// body returns the pprof as the body of a record.
func (p *payload) body(tb testing.TB) string {
	tb.Helper()
	return base64.StdEncoding.EncodeToString(p.gzip(tb))
}

// onePayload is a pprof with one sample of one frame and one second.
func onePayload(labels ...label) *payload {
	p := newPayload("")
	p.sample([]uint64{p.location("work", "main.js", 7)}, nil, append([]label{at(1000), period(1000)}, labels...)...)
	return p
}

// request is a log request of one agent.
type request struct {
	logs  plog.Logs
	scope plog.ScopeLogs
}

// newRequest returns a request without records, from an agent for this language.
func newRequest(language string) request {
	logs := plog.NewLogs()
	resource := logs.ResourceLogs().AppendEmpty()
	resource.Resource().Attributes().PutStr("service.name", "checkout")
	resource.Resource().Attributes().PutStr("telemetry.sdk.language", language)
	scope := resource.ScopeLogs().AppendEmpty()
	scope.Scope().SetName("otel.profiling")
	scope.Scope().SetVersion("0.1.0")
	return request{logs, scope}
}

// add adds a record with this body; attributes are keys and values, one after the other.
func (r request) add(body string, attributes ...any) plog.LogRecord {
	record := r.scope.LogRecords().AppendEmpty()
	record.Body().SetStr(body)
	for i := 0; i < len(attributes); i += 2 {
		if err := record.Attributes().PutEmpty(attributes[i].(string)).FromRaw(attributes[i+1]); err != nil {
			panic(err)
		}
	}
	return record
}

// addPprof adds a record with a CPU profile as a pprof.
func (r request) addPprof(body string, attributes ...any) plog.LogRecord {
	return r.add(body, append([]any{
		"com.splunk.sourcetype", "otel.profiling", "profiling.data.type", "cpu", "profiling.data.format", "pprof-gzip-base64",
	}, attributes...)...)
}

// addText adds a record with a stack, seen at second 1, with a period of 100 ms.
func (r request) addText(body string, attributes ...any) plog.LogRecord {
	record := r.add(body, append([]any{
		"com.splunk.sourcetype", "otel.profiling", "profiling.data.type", "cpu", "profiling.data.format", "text",
	}, attributes...)...)
	if _, found := record.Attributes().Get("source.event.period"); !found {
		record.Attributes().PutInt("source.event.period", 100)
	}
	record.SetTimestamp(pcommon.Timestamp(1_000_000_000))
	return record
}

// decodePayload decodes a request with one pprof record.
func decodePayload(t *testing.T, p *payload, opts Options, attributes ...any) (pprofile.Profiles, Result) {
	t.Helper()
	r := newRequest("nodejs")
	r.addPprof(p.body(t), attributes...)
	return mustDecode(t, r.logs, opts)
}

// onlySample returns the only sample of a message.
func onlySample(t *testing.T, pd pprofile.Profiles) pprofile.Sample {
	t.Helper()
	profiles := profilesOf(pd)
	require.Len(t, profiles, 1)
	require.Equal(t, 1, profiles[0].Samples().Len())
	return profiles[0].Samples().At(0)
}
