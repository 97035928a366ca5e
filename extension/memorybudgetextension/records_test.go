// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package memorybudgetextension

import (
	"bytes"
	"context"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/extension"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/otelpprof/otelpprof/internal/attributevalue"
	"github.com/otelpprof/otelpprof/internal/memory"
	"github.com/otelpprof/otelpprof/internal/testkit/must"
	"github.com/otelpprof/otelpprof/internal/wire/inflate"
	"github.com/otelpprof/otelpprof/internal/wire/otlpwire"
)

// withBudget returns the extension with so many bytes for records and requests.
func withBudget(t *testing.T, bytes int64) (*memoryBudget, *componenttest.Telemetry) {
	t.Helper()
	telemetry := componenttest.NewTelemetry()
	t.Cleanup(func() { require.NoError(t, telemetry.Shutdown(context.Background())) })
	m := must.Get(create(t.Context(), extension.Settings{TelemetrySettings: telemetry.NewTelemetrySettings()}, createDefaultConfig()))(t).(*memoryBudget)
	m.budget = memory.New(bytes, time.Minute)
	return m, telemetry
}

// messageWith returns a message whose resource has an attribute with this value.
func messageWith(set func(pcommon.Value)) pprofile.Profiles {
	pd := pprofile.NewProfiles()
	set(pd.ResourceProfiles().AppendEmpty().Resource().Attributes().PutEmpty("key"))
	return pd
}

// listOf returns a message that needs about 50 bytes of memory for each element of a list, and two bytes in a record.
func listOf(length int) pprofile.Profiles {
	return messageWith(func(value pcommon.Value) {
		list := value.SetEmptySlice()
		for range length {
			list.AppendEmpty()
		}
	})
}

// deepStack returns a message with so many samples of one stack.
func deepStack(depth, samples int) pprofile.Profiles {
	pd := pprofile.NewProfiles()
	pd.Dictionary().StackTable().AppendEmpty().LocationIndices().FromRaw(make([]int32, depth))
	all := pd.ResourceProfiles().AppendEmpty().ScopeProfiles().AppendEmpty().Profiles().AppendEmpty().Samples()
	for range samples {
		all.AppendEmpty()
	}
	return pd
}

func plainRecord(t *testing.T, pd pprofile.Profiles) []byte {
	t.Helper()
	return must.Get((&pprofile.ProtoMarshaler{}).MarshalProfiles(pd))(t)
}

// TestRecordWithKeyReferences: a record with a key and its reference, which pdata v0.159 writes, is read, also a second time.
func TestRecordWithKeyReferences(t *testing.T) {
	t.Parallel()
	m, _ := withBudget(t, 64<<20)
	// A resource with an attribute of the key "k", the reference 1 and the value "v", and a dictionary with the string "k".
	record := []byte("\x0a\x0e\x0a\x0c\x0a\x0a\x0a\x01k\x18\x01\x12\x03\x0a\x01v\x12\x05\x2a\x00\x2a\x01k")
	for range 2 {
		pd := must.Get(m.UnmarshalProfiles(record))(t)
		assert.Equal(t, map[string]any{"k": "v"}, pd.ResourceProfiles().At(0).Resource().Attributes().AsRaw())
	}
}

// TestRecord: a record is compressed, and is read as it was. So is a record that is not compressed.
func TestRecord(t *testing.T) {
	t.Parallel()
	m, _ := withBudget(t, 64<<20)
	plain := plainRecord(t, listOf(10_000))
	record := must.Get(m.MarshalProfiles(listOf(10_000)))(t)
	assert.Less(t, len(record), len(plain)/10)
	for _, record := range [][]byte{record, plain} {
		pd := must.Get(m.UnmarshalProfiles(record))(t)
		assert.Equal(t, plain, plainRecord(t, pd))
	}
}

// TestRecordReservation: a message has a reservation as long as it can be reached.
func TestRecordReservation(t *testing.T) {
	t.Parallel()
	m, _ := withBudget(t, 64<<20)
	record := must.Get(m.MarshalProfiles(listOf(10_000)))(t)
	pd := must.Get(m.UnmarshalProfiles(record))(t)
	for range 3 {
		runtime.GC()
	}
	used, _ := m.budget.Used()
	assert.Greater(t, used, int64(10_000*16), "the list has so many bytes")
	_, found, err := m.budget.Message(t.Context(), pd)
	require.NoError(t, err)
	assert.Equal(t, used, found.Bytes(), "the next consumers find it")
	found.Release()
	runtime.KeepAlive(pd)
	m.requireFree(t)
}

// TestRecordsWait: a record that does not fit beside others waits until they were consumed, and is never refused.
func TestRecordsWait(t *testing.T) {
	t.Parallel()
	m, _ := withBudget(t, 6<<20)
	record := must.Get(m.MarshalProfiles(listOf(25_000)))(t)
	for range 50 {
		_, err := m.UnmarshalProfiles(record)
		require.NoError(t, err)
	}
	_, peak := m.budget.Used()
	assert.LessOrEqual(t, peak, m.budget.Size())
	assert.Greater(t, peak, m.budget.Size()/2, "several records were in memory")
}

// TestRecordsAtShutdown: a receiver that stops does not wait for memory. The next consumer does.
func TestRecordsAtShutdown(t *testing.T) {
	t.Parallel()
	m, _ := withBudget(t, 6<<20)
	record := must.Get(m.MarshalProfiles(listOf(25_000)))(t)
	others := m.budget.Begin()
	others.Add(m.budget.Size())
	time.AfterFunc(50*time.Millisecond, func() { assert.NoError(t, m.NotReady()) })
	pd := must.Get(m.UnmarshalProfiles(record))(t)
	list, _ := pd.ResourceProfiles().At(0).Resource().Attributes().Get("key")
	assert.Equal(t, 25_000, list.Slice().Len())
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, _, err := m.budget.Message(ctx, pd)
	require.ErrorIs(t, err, context.DeadlineExceeded, "its memory is not reserved yet")
	others.Release()
}

// TestRefusedRecords: neither side takes a record that is too large or malformed, and both count it.
func TestRefusedRecords(t *testing.T) {
	t.Parallel()
	m, telemetry := withBudget(t, 80<<20)
	m.config.MaxInflatedMiB = 1
	text := func(value pcommon.Value) { value.SetStr(strings.Repeat("x", 1<<20)) }
	nested := func(value pcommon.Value) {
		for range attributevalue.MaxDepth + 1 {
			value = value.SetEmptySlice().AppendEmpty()
		}
	}
	tooLarge, tooDeep := plainRecord(t, messageWith(text)), plainRecord(t, messageWith(nested))
	for _, test := range []struct {
		message pprofile.Profiles
		record  []byte
		want    error
	}{
		{messageWith(text), recordEncoder.EncodeAll(tooLarge, nil), inflate.ErrTooLarge},
		{messageWith(text), tooLarge, inflate.ErrTooLarge},
		{messageWith(nested), tooDeep, otlpwire.ErrTooDeep},
		{listOf(500_000), plainRecord(t, listOf(500_000)), memory.ErrTooLarge},
		{deepStack(1_000_000, 300), plainRecord(t, deepStack(1_000_000, 300)), inflate.ErrTooLarge},
	} {
		_, err := m.UnmarshalProfiles(test.record)
		require.ErrorIs(t, err, test.want)
		_, err = m.MarshalProfiles(test.message)
		require.ErrorIs(t, err, test.want)
		assert.True(t, consumererror.IsPermanent(err))
		assert.Equal(t, codes.InvalidArgument, status.Code(err), "the sender has to change the request")
	}
	_, err := m.UnmarshalProfiles(bytes.Repeat([]byte{0xff}, 10))
	require.ErrorIs(t, err, otlpwire.ErrMalformed)
	metric := must.Get(telemetry.GetMetric("otelcol_extension_memory_budget_refusals"))(t)
	for reason, count := range map[string]int64{"too_large": 8, "too_deep": 2, "malformed": 1} {
		assert.Equal(t, count, sumOf(metric, reason), reason)
	}
	m.requireFree(t)
}
