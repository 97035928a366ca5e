// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package splunkrecords

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pprofile"
	"go.opentelemetry.io/otel/metric/noop"
	"go.uber.org/goleak"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/otelpprof/otelpprof/internal/memory"
	"github.com/otelpprof/otelpprof/internal/testkit/budgettest"
	"github.com/otelpprof/otelpprof/translator/splunk"
)

// newTestTranslator returns a Translator without metrics, and its log.
func newTestTranslator(t *testing.T) (*Translator, *observer.ObservedLogs) {
	t.Helper()
	core, logged := observer.New(zapcore.InfoLevel)
	cfg := NewDefaultConfig()
	return NewTranslator(&cfg, Metrics{
		Bytes: noop.Int64Counter{}, EmptyRecords: noop.Int64Counter{}, Events: noop.Int64Counter{}, Records: noop.Int64Counter{},
		Refusals: noop.Int64Counter{}, Repairs: noop.Int64Counter{}, Samples: noop.Int64Counter{}, TranslateDuration: noop.Float64Histogram{},
	}, zap.New(core)), logged
}

// translate returns what the translator passes to the next consumer.
func translate(t *testing.T, translator *Translator, logs plog.Logs) (profiles pprofile.Profiles, result *splunk.Result) {
	t.Helper()
	require.NoError(t, translator.Translate(t.Context(), logs, func(_ context.Context, p pprofile.Profiles, r *splunk.Result) error {
		profiles, result = p, r
		return nil
	}))
	return profiles, result
}

// brokenLogs returns two records that cannot be decoded.
func brokenLogs() plog.Logs {
	logs := plog.NewLogs()
	resource := logs.ResourceLogs().AppendEmpty()
	resource.Resource().Attributes().PutStr("service.name", "checkout")
	resource.Resource().Attributes().PutStr("telemetry.sdk.language", "java")
	scope := resource.ScopeLogs().AppendEmpty()
	scope.Scope().SetName("otel.profiling")
	scope.Scope().SetVersion("0.1.0")
	for range 2 {
		record := scope.LogRecords().AppendEmpty()
		record.Attributes().PutStr("profiling.data.format", "pprof-gzip-base64")
		record.Body().SetStr("!")
	}
	return logs
}

// TestRefusedRecordsAreLogged: the log tells whose records were refused and why, at a limited rate, and counts all of them.
func TestRefusedRecordsAreLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		translator, logged := newTestTranslator(t)
		_, result := translate(t, translator, brokenLogs())
		require.Len(t, result.Refused, 2)
		entries := logged.TakeAll()
		require.Len(t, entries, 1)
		assert.Equal(t, zapcore.WarnLevel, entries[0].Level)
		fields := entries[0].ContextMap()
		assert.EqualValues(t, 2, fields["records_since_last_line"])
		assert.Equal(t, "base64", fields["reason"])
		assert.Contains(t, fields["error"], "illegal base64 data")
		assert.Equal(t, "checkout", fields["service.name"])
		assert.Equal(t, "java", fields["telemetry.sdk.language"])
		assert.Equal(t, "0.1.0", fields["scope_version"])

		for range 10 {
			time.Sleep(logInterval / 11)
			translate(t, translator, brokenLogs())
		}
		assert.Empty(t, logged.TakeAll())
		time.Sleep(logInterval)
		translate(t, translator, brokenLogs())
		entries = logged.TakeAll()
		require.Len(t, entries, 1)
		assert.EqualValues(t, 22, entries[0].ContextMap()["records_since_last_line"])
	})
}

func TestGoodRecordsAreNotLogged(t *testing.T) {
	translator, logged := newTestTranslator(t)
	logs := brokenLogs()
	for _, record := range logs.ResourceLogs().At(0).ScopeLogs().At(0).LogRecords().All() {
		record.Attributes().PutStr("profiling.data.format", "text")
		record.Body().SetStr("\n\na.B.c(B.java:1)")
	}
	profiles, result := translate(t, translator, logs)
	assert.Equal(t, 2, result.TextRecords)
	assert.Equal(t, 1, profiles.ResourceProfiles().Len())
	assert.Empty(t, logged.TakeAll())
}

// TestEventsWithoutTime: an event without a time gets the current time.
func TestEventsWithoutTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		translator, _ := newTestTranslator(t)
		logs := brokenLogs()
		record := logs.ResourceLogs().At(0).ScopeLogs().At(0).LogRecords().At(0)
		record.Attributes().PutStr("profiling.data.format", "text")
		record.Body().SetStr("\n\na.B.c(B.java:1)")
		profiles, _ := translate(t, translator, logs)
		profile := profiles.ResourceProfiles().At(0).ScopeProfiles().At(0).Profiles().At(0)
		assert.Equal(t, time.Now().UnixNano(), profile.Time().AsTime().UnixNano())
	})
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func startWith(t *testing.T, shared *memory.Budget) *Translator {
	t.Helper()
	translator, _ := newTestTranslator(t)
	require.NoError(t, translator.Start(budgettest.NewHost(shared)))
	return translator
}

// textLogs returns two records in the text format: one with one frame, and one whose body has size more bytes.
func textLogs(size int) plog.Logs {
	logs := brokenLogs()
	records := logs.ResourceLogs().At(0).ScopeLogs().At(0).LogRecords()
	for _, record := range records.All() {
		record.Attributes().PutStr("profiling.data.format", "text")
		record.Body().SetStr("a.B.c(B.java:1)")
	}
	records.At(1).Body().SetStr("a.B.c(B.java:1)\n" + string(bytes.Repeat([]byte("\n"), size)))
	return logs
}

// TestEndedRequest: the records of a sender that has left are not read, also if their memory is available.
func TestEndedRequest(t *testing.T) {
	translator := startWith(t, memory.New(10<<20, time.Second))
	ctx, leave := context.WithCancel(t.Context())
	leave()
	err := translator.Translate(ctx, textLogs(100), func(context.Context, pprofile.Profiles, *splunk.Result) error {
		t.Error("the next consumer was called")
		return nil
	})
	require.ErrorIs(t, err, context.Canceled)
	assert.False(t, consumererror.IsPermanent(err))
}

// TestBudgetIsHeldDuringNext: the memory of the profiles is reserved until the next consumer returns, and released then.
func TestBudgetIsHeldDuringNext(t *testing.T) {
	shared := memory.New(10<<20, time.Second)
	translator := startWith(t, shared)
	unusable := errors.New("unusable")
	err := translator.Translate(t.Context(), textLogs(100), func(ctx context.Context, _ pprofile.Profiles, result *splunk.Result) error {
		used, peak := shared.Used()
		assert.Equal(t, memory.MessageFactor*result.MessageBytes, used)
		assert.Positive(t, used)
		assert.Greater(t, peak, used, "memory for bodies and tables is released")
		assert.Equal(t, used, memory.FromContext(ctx).Bytes(), "for the next consumers")
		return unusable
	})
	assert.Equal(t, unusable, err)
	used, _ := shared.Used()
	assert.Zero(t, used)
}

// TestReservationOfTheRequest: the profiles have a reservation beside that of the logs, in the same budget. The latter has its old size
// afterwards.
func TestReservationOfTheRequest(t *testing.T) {
	shared := memory.New(10<<20, time.Second)
	reservation, err := budgettest.Reserve(t.Context(), shared, 1000)
	require.NoError(t, err)
	translator := startWith(t, memory.New(1, 0))
	ctx := memory.NewContext(t.Context(), reservation)
	require.NoError(t, translator.Translate(ctx, textLogs(100), func(ctx context.Context, _ pprofile.Profiles, result *splunk.Result) error {
		assert.Empty(t, result.Refused)
		assert.Equal(t, memory.MessageFactor*result.MessageBytes, memory.FromContext(ctx).Bytes())
		used, _ := shared.Used()
		assert.Equal(t, 1000+memory.MessageFactor*result.MessageBytes, used)
		return nil
	}))
	assert.EqualValues(t, 1000, reservation.Bytes())
}

// TestTooLargeForTheBudget: a record that can never fit is refused, and the other record is translated.
func TestTooLargeForTheBudget(t *testing.T) {
	translator := startWith(t, memory.New(1<<20, time.Hour))
	_, result := translate(t, translator, textLogs(2<<20))
	require.Len(t, result.Refused, 1)
	assert.Equal(t, splunk.ReasonMemory, result.Refused[0].Reason)
	require.ErrorIs(t, result.Refused[0].Err, memory.ErrTooLarge)
	assert.Equal(t, 1, result.TextRecords)
}

// TestMessageTooLargeForTheBudget: all records are refused if they fit one by one, but their message never can.
func TestMessageTooLargeForTheBudget(t *testing.T) {
	logs := textLogs(0)
	records := logs.ResourceLogs().At(0).ScopeLogs().At(0).LogRecords()
	for i := range 2000 { // Long names make the message larger than the work on it.
		record := records.AppendEmpty()
		records.At(0).CopyTo(record)
		record.Body().SetStr(fmt.Sprintf("a.B.c%05000d(B.java:1)", i))
	}
	faulty := records.AppendEmpty()
	faulty.Attributes().PutStr("profiling.data.format", "pprof-gzip-base64")
	faulty.Body().SetStr("!")
	profiling := records.Len()
	logs.ResourceLogs().At(0).ScopeLogs().AppendEmpty().LogRecords().AppendEmpty().Body().SetStr("another log")
	first := plog.NewLogs()
	first.ResourceLogs().AppendEmpty() // without a scope
	logs.ResourceLogs().MoveAndAppendTo(first.ResourceLogs())
	logs = first
	var size int64
	translator := startWith(t, memory.New(1<<30, time.Second))
	require.NoError(t, translator.Translate(t.Context(), logs, func(_ context.Context, _ pprofile.Profiles, result *splunk.Result) error {
		size = result.MessageBytes
		return nil
	}))
	shared := memory.New(2*size, time.Hour) // of which an eighth is kept for ordinary requests
	translator, logged := newTestTranslator(t)
	require.NoError(t, translator.Start(budgettest.NewHost(shared)))
	called := 0
	err := translator.Translate(t.Context(), logs, func(_ context.Context, profiles pprofile.Profiles, result *splunk.Result) error {
		called++
		assert.Zero(t, profiles.ResourceProfiles().Len())
		assert.Len(t, result.Refused, profiling)
		assert.Equal(t, profiling, result.Records)
		assert.Equal(t, 1, result.OtherRecords)
		require.ErrorIs(t, result.Refused[0].Err, memory.ErrTooLarge)
		assert.Equal(t, splunk.ReasonMemory, result.Refused[0].Reason)
		assert.Equal(t, splunk.ReasonBase64, result.Refused[profiling-1].Reason)
		assert.Positive(t, result.BodyBytes)
		return nil
	})
	require.NoError(t, err)
	assert.Equal(t, 1, called, "there may be other logs")
	entries := logged.TakeAll()
	require.Len(t, entries, 1)
	fields := entries[0].ContextMap()
	assert.EqualValues(t, profiling, fields["records_since_last_line"])
	assert.Equal(t, "memory", fields["reason"])
	assert.Equal(t, "checkout", fields["service.name"])
	assert.Equal(t, "0.1.0", fields["scope_version"])
	used, _ := shared.Used()
	assert.Zero(t, used)
}

// TestExhaustedBudget: the error is retryable, and nothing is passed on.
func TestExhaustedBudget(t *testing.T) {
	shared := memory.New(1<<20, 0)
	other := budgettest.Hold(t, shared, 1<<20)
	translator := startWith(t, shared)
	err := translator.Translate(t.Context(), textLogs(100), func(context.Context, pprofile.Profiles, *splunk.Result) error {
		assert.Fail(t, "passed on")
		return nil
	})
	require.ErrorIs(t, err, memory.ErrExhausted)
	assert.False(t, consumererror.IsPermanent(err))
	other.Release()
	used, _ := shared.Used()
	assert.Zero(t, used)
	_, result := translate(t, translator, textLogs(100))
	assert.Empty(t, result.Refused)
}
