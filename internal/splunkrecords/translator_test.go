// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package splunkrecords

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pprofile"
	"go.opentelemetry.io/otel/metric/noop"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

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
