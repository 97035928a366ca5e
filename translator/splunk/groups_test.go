// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package splunk

import (
	"bytes"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/xpdata/entity"

	"github.com/otelpprof/otelpprof/internal/dictionary"
)

const oneFrame = "\n\nf(a.js:1:1)\n"

// TestGroups checks which text records become one profile.
func TestGroups(t *testing.T) {
	r := newRequest("nodejs")
	r.addText(oneFrame)
	r.addText(oneFrame, "profiling.instrumentation.source", "snapshot")
	r.addText(oneFrame)
	r.addText(oneFrame, "source.event.period", 200)
	r.add(oneFrame, "profiling.data.type", "allocation", "memory.allocated", 64).SetTimestamp(5)
	r.addText(oneFrame, "profiling.data.type", "wall")
	r.add(oneFrame, "allocationSize", 32).SetTimestamp(5) // as the oldest Java agents write it
	pd, result := mustDecode(t, r.logs, Options{})
	type group struct {
		kind   string
		values []int64
		period int64
	}
	var groups []group
	for _, p := range profilesOf(pd) {
		groups = append(groups, group{sampleTypeOf(pd, p), valuesOf(p), p.Period()})
	}
	const milli = 1_000_000
	assert.Equal(t, []group{
		{"cpu/nanoseconds", []int64{100 * milli, 100 * milli}, 100 * milli},
		{"cpu/nanoseconds", []int64{100 * milli}, 100 * milli},
		{"cpu/nanoseconds", []int64{200 * milli}, 200 * milli},
		{"alloc_space/bytes", []int64{64, 32}, 0},
		{"cpu/nanoseconds", []int64{100 * milli}, 100 * milli},
	}, groups)
	assert.Equal(t, map[string]any{"profiling.instrumentation.source": "snapshot"}, attributesOf(pd, profilesOf(pd)[1].AttributeIndices()))
	assert.Equal(t, map[string]any{"profiling.data.type": "wall"}, attributesOf(pd, profilesOf(pd)[4].AttributeIndices()))
	assert.Equal(t, 7, result.TextRecords)
}

// TestEqualContainersAreJoined: resources and scopes with equal content are joined, so that profiles that a batch
// processor separated are in one resource again.
func TestEqualContainersAreJoined(t *testing.T) {
	logs := plog.NewLogs()
	for range 3 {
		r := newRequest("nodejs")
		r.addText(oneFrame)
		r.addPprof(onePayload().body(t))
		r.logs.ResourceLogs().MoveAndAppendTo(logs.ResourceLogs())
	}
	pd, _ := mustDecode(t, logs, Options{})
	require.Equal(t, 1, pd.ResourceProfiles().Len())
	require.Equal(t, 1, pd.ResourceProfiles().At(0).ScopeProfiles().Len())
	profiles := profilesOf(pd)
	require.Len(t, profiles, 4)
	assert.Equal(t, []int64{100_000_000, 100_000_000, 100_000_000}, valuesOf(profiles[3]))

	for name, change := range map[string]func(plog.ResourceLogs){
		"resource":               func(r plog.ResourceLogs) { r.Resource().Attributes().PutStr("service.name", "other") },
		"resource's schema":      func(r plog.ResourceLogs) { r.SetSchemaUrl("other") },
		"resource's entities":    func(r plog.ResourceLogs) { entity.ResourceEntityRefs(r.Resource()).AppendEmpty().SetType("other") },
		"resource's dropped":     func(r plog.ResourceLogs) { r.Resource().SetDroppedAttributesCount(1) },
		"scope's name":           func(r plog.ResourceLogs) { r.ScopeLogs().At(0).Scope().SetName("other") },
		"scope's version":        func(r plog.ResourceLogs) { r.ScopeLogs().At(0).Scope().SetVersion("other") },
		"scope's attributes":     func(r plog.ResourceLogs) { r.ScopeLogs().At(0).Scope().Attributes().PutBool("other", true) },
		"scope's schema":         func(r plog.ResourceLogs) { r.ScopeLogs().At(0).SetSchemaUrl("other") },
		"scope's dropped":        func(r plog.ResourceLogs) { r.ScopeLogs().At(0).Scope().SetDroppedAttributesCount(1) },
		"language of the frames": func(r plog.ResourceLogs) { r.Resource().Attributes().PutStr("telemetry.sdk.language", "go") },
	} {
		t.Run(name, func(t *testing.T) {
			changed := plog.NewLogs()
			logs.CopyTo(changed)
			change(changed.ResourceLogs().At(1))
			for _, record := range changed.ResourceLogs().At(1).ScopeLogs().At(0).LogRecords().All() {
				record.Attributes().PutStr("com.splunk.sourcetype", "otel.profiling")
			}
			pd, _ := mustDecode(t, changed, Options{})
			assert.Len(t, profilesOf(pd), 5)
		})
	}
}

// TestEnvelope: resource and scope are copied unchanged.
func TestEnvelope(t *testing.T) {
	r := newRequest("nodejs")
	resource := r.logs.ResourceLogs().At(0)
	resource.SetSchemaUrl("resource's schema")
	resource.Resource().SetDroppedAttributesCount(3)
	resource.Resource().Attributes().PutEmptySlice("process.command_args").AppendEmpty().SetStr("node")
	reference := entity.ResourceEntityRefs(resource.Resource()).AppendEmpty()
	reference.SetType("service\xff")
	reference.IdKeys().Append("service.name", "\xff")
	reference.DescriptionKeys().Append("telemetry.sdk.language")
	r.scope.SetSchemaUrl("scope's schema")
	r.scope.Scope().Attributes().PutInt("number", 7)
	r.scope.Scope().SetDroppedAttributesCount(4)
	r.addPprof(onePayload().body(t)).SetDroppedAttributesCount(5)
	r.addText(oneFrame).SetDroppedAttributesCount(6)
	r.addText(oneFrame).SetDroppedAttributesCount(7)
	pd, result := mustDecode(t, r.logs, Options{})
	require.Equal(t, 1, pd.ResourceProfiles().Len())
	got := pd.ResourceProfiles().At(0)
	assert.Equal(t, "resource's schema", got.SchemaUrl())
	assert.EqualValues(t, 3, got.Resource().DroppedAttributesCount())
	assert.Equal(t, map[string]any{
		"service.name": "checkout", "telemetry.sdk.language": "nodejs", "process.command_args": []any{"node"},
	}, got.Resource().Attributes().AsRaw())
	require.Equal(t, 1, entity.ResourceEntityRefs(got.Resource()).Len())
	reference = entity.ResourceEntityRefs(got.Resource()).At(0)
	assert.Equal(t, "service\uFFFD", reference.Type())
	assert.Equal(t, []string{"service.name", "\uFFFD"}, reference.IdKeys().AsRaw())
	assert.Equal(t, []string{"telemetry.sdk.language"}, reference.DescriptionKeys().AsRaw())
	assert.Equal(t, 2, result.Repairs.InvalidUTF8)
	scope := got.ScopeProfiles().At(0)
	assert.Equal(t, []string{"scope's schema", "otel.profiling", "0.1.0"}, []string{scope.SchemaUrl(), scope.Scope().Name(), scope.Scope().Version()})
	assert.EqualValues(t, 4, scope.Scope().DroppedAttributesCount())
	assert.Equal(t, map[string]any{"number": int64(7)}, scope.Scope().Attributes().AsRaw())
	assert.EqualValues(t, 5, scope.Profiles().At(0).DroppedAttributesCount())
	assert.EqualValues(t, 13, scope.Profiles().At(1).DroppedAttributesCount())
}

// TestRepeatedKeys: of several attributes with one key, the first counts. pdata does not write this, but senders can.
func TestRepeatedKeys(t *testing.T) {
	r := newRequest("nodejs")
	for _, attributes := range []pcommon.Map{
		r.logs.ResourceLogs().At(0).Resource().Attributes(),
		r.scope.Scope().Attributes(),
		r.addPprof(onePayload().body(t)).Attributes(),
		r.addText(oneFrame).Attributes(),
	} {
		attributes.PutStr("key_a", "first")
		attributes.PutStr("key_b", "second")
	}
	raw, err := (&plog.ProtoMarshaler{}).MarshalLogs(r.logs)
	require.NoError(t, err)
	logs, err := (&plog.ProtoUnmarshaler{}).UnmarshalLogs(bytes.ReplaceAll(raw, []byte("key_b"), []byte("key_a")))
	require.NoError(t, err)
	pd, _ := mustDecode(t, logs, Options{})
	resource := pd.ResourceProfiles().At(0)
	assert.Equal(t, "first", resource.Resource().Attributes().AsRaw()["key_a"])
	assert.Equal(t, map[string]any{"key_a": "first"}, resource.ScopeProfiles().At(0).Scope().Attributes().AsRaw())
	profiles := profilesOf(pd)
	assert.Equal(t, map[string]any{"key_a": "first"}, attributesOf(pd, profiles[0].AttributeIndices()))
	assert.Equal(t, map[string]any{"key_a": "first"}, attributesOf(pd, profiles[1].Samples().At(0).AttributeIndices()))
}

// TestTextAttributes checks the attributes of a text record, which is one event.
func TestTextAttributes(t *testing.T) {
	r := newRequest("java")
	r.addText("\"main\" #7 nid=0x10\n   java.lang.Thread.State: RUNNABLE\n\tat a.B.c(B.java:1)\n",
		"thread.stack.truncated", true, "tlabSize", 99, "source.event.name", "jdk.ThreadDump", "thread.name", "another", "memory.allocated", "many")
	pd, result := mustDecode(t, r.logs, Options{})
	p := profilesOf(pd)[0]
	assert.Equal(t, map[string]any{"source.event.name": "jdk.ThreadDump"}, attributesOf(pd, p.AttributeIndices()))
	assert.Equal(t, map[string]any{
		"thread.id": int64(7), "thread.os.id": int64(16), "thread.name": "main", "thread.state": "RUNNABLE", "thread.stack.truncated": true,
		"tlabSize": int64(99), "memory.allocated": "many",
	}, attributesOf(pd, p.Samples().At(0).AttributeIndices()))
	assert.Equal(t, 1, result.Repairs.RepeatedLabels, "what the text says of the thread counts")
}

// TestContainersHaveHashesOfTheirOwn: senders cannot force linear searches with many resources or scopes.
func TestContainersHaveHashesOfTheirOwn(t *testing.T) {
	d := &decoding{dict: dictionary.New()}
	d.begin(&Options{Limits: DefaultLimits()}, received)
	for i := range uint32(10) {
		for j := range 10 {
			resource := plog.NewResourceLogs()
			resource.Resource().SetDroppedAttributesCount(i)
			resource.SetSchemaUrl(strconv.Itoa(j))
			d.enterResource(resource)
			scope := plog.NewScopeLogs()
			scope.Scope().SetVersion(strconv.Itoa(j))
			scope.Scope().SetDroppedAttributesCount(i)
			d.resource = d.resources[0]
			d.enterScope(scope)
		}
	}
	assert.Len(t, d.byResource, 100)
	assert.Len(t, d.resources[0].byScope, 100)
}
