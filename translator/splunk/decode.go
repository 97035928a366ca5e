// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package splunk

import (
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/dictionary"
	"github.com/otelpprof/otelpprof/internal/scratch"
)

// Decoder translates profiling records to OTLP profiles. Safe for concurrent use.
type Decoder struct {
	opts   Options
	memory scratch.Keeper[decoding]
}

// NewDecoder returns a Decoder with these options.
func NewDecoder(opts Options) *Decoder {
	opts.Limits = opts.Limits.withDefaults()
	if opts.LinkLabels == nil {
		opts.LinkLabels = DefaultLinkLabels()
	}
	return &Decoder{opts: opts}
}

// Decode translates the profiling records among the logs, which it only reads. A pprof record becomes a profile for each
// of its sample types, the default one first; the text records of one resource, scope, data type, instrumentation source
// and period become one profile together. Resources and scopes that are equal are joined; without any sample there is
// none, and the message is empty. received is the time of events that have none, nor a record with one.
//
// A record that cannot be read is left out and stands in the result; it does not affect the others.
func (d *Decoder) Decode(logs plog.Logs, received pcommon.Timestamp) (pprofile.Profiles, Result) {
	return d.DecodeReserving(logs, received, nil)
}

// DecodeReserving is [Decoder.Decode] that asks reserve before it takes memory, with all bytes that the translation then
// takes: the bodies after base64 and decompression, its tables, and the message. A record whose memory is refused is left
// out with [ReasonMemory] and the error of reserve.
func (d *Decoder) DecodeReserving(
	logs plog.Logs, received pcommon.Timestamp, reserve func(bytes int64) error,
) (pprofile.Profiles, Result) {
	t := d.memory.Get()
	if t == nil {
		t = &decoding{dict: dictionary.New()}
	}
	t.begin(&d.opts, received)
	t.reserved.reserve = reserve
	t.decode(logs)
	pd, result := t.profiles, t.result
	d.memory.Put(t, t.release())
	return pd, result
}

// decode walks over the records. Those of text are collected, since several become one profile.
func (t *decoding) decode(logs plog.Logs) {
	for i, resource := range logs.ResourceLogs().All() {
		t.resource = nil
		for j, scope := range resource.ScopeLogs().All() {
			t.scope = nil
			whole := isProfilingScope(resource.Resource().Attributes(), scope.Scope())
			for k, log := range scope.LogRecords().All() {
				if !whole && !isProfilingRecord(log) {
					t.result.OtherRecords++
					continue
				}
				t.enter(resource, scope)
				t.result.Records++
				refused := t.scope.refused
				if refused == nil {
					refused = t.decodeRecord(log)
				}
				if refused != nil {
					t.result.Refused = append(t.result.Refused, Refusal{i, j, k, refused.reason, refused.err})
				}
			}
		}
	}
	t.finishTexts()
	if t.profiles.ResourceProfiles().Len() > 0 {
		t.dict.WriteTo(t.profiles.Dictionary())
		t.result.MessageBytes = t.reserved.message + t.dict.MessageBytes()
	}
}

// enter goes into a resource and a scope, unless it is there already. Those of ordinary logs cost nothing.
func (t *decoding) enter(resource plog.ResourceLogs, scope plog.ScopeLogs) {
	if t.resource == nil {
		t.enterResource(resource)
	}
	if t.scope == nil {
		t.enterScope(scope)
	}
}

func (t *decoding) decodeRecord(log plog.LogRecord) *refusal {
	t.reserved.body, t.reserved.record, t.reserved.err = 0, 0, nil
	if refused := checkDepth("record", log.Attributes()); refused != nil {
		return refused
	}
	t.record = readRecord(log, t)
	format, refused := t.readBody()
	if refused != nil {
		return refused
	}
	if format == formatText {
		return t.decodeText()
	}
	return t.decodePprof()
}
