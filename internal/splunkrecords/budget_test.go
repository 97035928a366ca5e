// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package splunkrecords

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/memory"
	"github.com/otelpprof/otelpprof/internal/testkit/budgettest"
	"github.com/otelpprof/otelpprof/translator/splunk"
)

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
	reservation, err := shared.Reserve(t.Context(), 1000)
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
