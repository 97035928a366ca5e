// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package load

import (
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/consumer/xconsumer"
	"go.opentelemetry.io/collector/pdata/pprofile"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/otlpreceiver"
	"go.opentelemetry.io/collector/receiver/receivertest"
	"go.opentelemetry.io/collector/receiver/xreceiver"
	"go.uber.org/goleak"

	"github.com/otelpprof/otelpprof/internal/testkit/gateway"
	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
	"github.com/otelpprof/otelpprof/receiver/pprofreceiver"
	"github.com/otelpprof/otelpprof/receiver/splunklogprofilereceiver"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// startReceivers starts all receivers that uploads are for, in this process.
func startReceivers(t *testing.T, take func(context.Context, pprofile.Profiles) error) Targets {
	t.Helper()
	addresses, err := gateway.FreeAddresses(t.Context(), 3)
	require.NoError(t, err)
	next, err := xconsumer.NewProfiles(take)
	require.NoError(t, err)
	start := func(made receiver.Factory, config map[string]any) {
		factory := made.(xreceiver.Factory)
		cfg := factory.CreateDefaultConfig()
		require.NoError(t, confmap.NewFromStringMap(config).Unmarshal(cfg))
		one, err := factory.CreateProfiles(t.Context(), receivertest.NewNopSettings(factory.Type()), cfg, next)
		require.NoError(t, err)
		require.NoError(t, one.Start(t.Context(), componenttest.NewNopHost()))
		t.Cleanup(func() { assert.NoError(t, one.Shutdown(context.WithoutCancel(t.Context()))) })
	}
	start(pprofreceiver.NewFactory(), map[string]any{"server": map[string]any{"endpoint": addresses[0]}})
	start(otlpreceiver.NewFactory(), map[string]any{"protocols": map[string]any{"grpc": map[string]any{"endpoint": addresses[1]}}})
	start(splunklogprofilereceiver.NewFactory(), map[string]any{"protocols": map[string]any{"http": map[string]any{"endpoint": addresses[2]}}})
	return Targets{Pprof: addresses[0], OTLP: addresses[1], Splunk: addresses[2]}
}

func newSender(t *testing.T, take func(context.Context, pprofile.Profiles) error) *Sender {
	t.Helper()
	uploads, err := NewUploads("../../..")
	require.NoError(t, err)
	sender, err := NewSender(uploads, startReceivers(t, take))
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, sender.Close()) })
	return sender
}

// TestEachProtocol: the expected profiles of an upload arrive, over every protocol and for every kind of invalid upload,
// and the refusals have the expected reasons.
func TestEachProtocol(t *testing.T) {
	account := profiletest.NewAccount()
	sender := newSender(t, func(_ context.Context, pd pprofile.Profiles) error {
		account.Arrived(pd)
		return nil
	})
	refusals := map[Reason]int{}
	kinds := len(invalids)
	if testing.Short() {
		kinds = 4 // two of them in a cycle
	}
	for number := range Cycle / 2 * kinds {
		profiles, err := sender.uploads.Profiles(number)
		require.NoError(t, err)
		account.Sent(profiles...)
		outcome, err := sender.Send(t.Context(), number)
		require.NoError(t, err)
		require.NoError(t, Check(&outcome))
		require.True(t, account.Balance().Even(), "upload %d, protocol %d: %v", number, protocolOf(number), account.Balance())
		if reason, must := MustRefuse(number); must {
			refusals[reason]++
			require.Len(t, outcome.Refusals, 1)
		}
	}
	assert.Len(t, refusals, kinds, "each kind of invalid upload has its own reason, and was sent")
	for p := range protocolInvalid {
		assert.True(t, slices.Contains(protocols[:], p), "protocol %d", p)
	}
}

// TestRetry: an upload that is refused with a retryable error is sent until it is accepted, over every protocol.
func TestRetry(t *testing.T) {
	refuse := false
	sender := newSender(t, func(context.Context, pprofile.Profiles) error {
		if refuse = !refuse; refuse {
			return consumererror.NewRetryableError(assert.AnError)
		}
		return nil
	})
	for number := range Cycle / 2 {
		outcome, err := sender.Send(t.Context(), number+Cycle/2)
		require.NoError(t, err)
		require.NoError(t, Check(&outcome))
		if _, must := MustRefuse(outcome.Number); !must {
			assert.Equal(t, 2, outcome.Attempts, "protocol %d", protocolOf(outcome.Number))
			assert.Equal(t, 1, outcome.Busy)
		}
	}
}

// TestCheck: a wrong answer, or a wrong reason, is an error.
func TestCheck(t *testing.T) {
	const broken = 9
	require.NoError(t, Check(&Outcome{Number: 0}))
	require.NoError(t, Check(&Outcome{Number: broken, Refused: "400 Bad Request: the gzip is broken"}))
	for name, o := range map[string]Outcome{
		"refused what is good":    {Number: 0, Refused: "400 Bad Request"},
		"accepted what is broken": {Number: broken},
		"another status":          {Number: broken, Refused: "500 Internal Server Error: the gzip is broken"},
		"another reason":          {Number: broken, Refused: "400 Bad Request: wrong query"},
	} {
		t.Run(name, func(t *testing.T) { assert.Error(t, Check(&o)) })
	}
}

// TestNobodyThere: a sender without an answer retries until its time is over, and records each attempt.
func TestNobodyThere(t *testing.T) {
	addresses, err := gateway.FreeAddresses(t.Context(), 1)
	require.NoError(t, err)
	uploads, err := NewUploads("../../..")
	require.NoError(t, err)
	sender, err := NewSender(uploads, Targets{Pprof: addresses[0], OTLP: addresses[0], Splunk: addresses[0]})
	require.NoError(t, err)
	defer func() { require.NoError(t, sender.Close()) }()
	ctx, cancel := context.WithTimeout(t.Context(), 3*pause)
	defer cancel()
	outcome, err := sender.Send(ctx, 9)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	assert.Equal(t, outcome.Attempts, outcome.Broken)
	assert.Len(t, outcome.Refusals, outcome.Attempts)
	assert.False(t, outcome.Refusals[0].Answered)
}
