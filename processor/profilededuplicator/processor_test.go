// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profilededuplicator

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/pdata/pprofile"
	"go.opentelemetry.io/collector/pdata/xpdata/pref"
	"go.opentelemetry.io/collector/processor/processortest"
	"go.opentelemetry.io/collector/processor/xprocessor"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"pgregory.net/rapid"

	"github.com/otelpprof/otelpprof/internal/dedup"
	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
	"github.com/otelpprof/otelpprof/internal/testkit/profiletest/gen"
	"github.com/otelpprof/otelpprof/processor/profilededuplicator/internal/metadata"
)

func TestFactory(t *testing.T) {
	factory := NewFactory()
	assert.Equal(t, component.MustNewType("profile_deduplicator"), factory.Type())
	assert.Equal(t, component.StabilityLevelAlpha, factory.ProfilesStability())
	_, err := factory.CreateTraces(t.Context(), processortest.NewNopSettings(metadata.Type), factory.CreateDefaultConfig(), consumertest.NewNop())
	assert.Error(t, err, "profiles only")
}

// configurations has configurations with different lifecycles.
func configurations() map[string]func(*Config) {
	return map[string]func(*Config){
		"synchronous":     nil,
		"batch":           batchOf(nil),
		"repeated":        repeatedOf(nil),
		"batch, repeated": repeatedOf(batchOf(nil)),
		"result":          waitOf(nil),
	}
}

func create(t *testing.T, change func(*Config)) xprocessor.Profiles {
	t.Helper()
	cfg := createDefaultConfig().(*Config)
	if change != nil {
		change(cfg)
	}
	p, err := NewFactory().CreateProfiles(t.Context(), processortest.NewNopSettings(metadata.Type), cfg, consumertest.NewNop())
	require.NoError(t, err)
	return p
}

func TestLifecycle(t *testing.T) {
	for name, change := range configurations() {
		t.Run(name, func(t *testing.T) {
			p := create(t, change)
			assert.True(t, p.Capabilities().MutatesData)
			require.NoError(t, p.Shutdown(t.Context()), "without a start")
			require.NoError(t, p.Shutdown(t.Context()), "twice")

			p = create(t, change)
			require.NoError(t, p.Start(t.Context(), componenttest.NewNopHost()))
			require.NoError(t, p.ConsumeProfiles(t.Context(), upload("checkout", 1, 1)))
			require.NoError(t, p.Shutdown(t.Context()))
			require.NoError(t, p.Shutdown(t.Context()))
		})
	}
}

// TestEndedContext: a message whose context has ended is refused with a retryable error. The receiver kafka passes on all records that
// it has while it stops.
func TestEndedContext(t *testing.T) {
	for name, change := range configurations() {
		t.Run(name, func(t *testing.T) {
			f := start(t, &sink{}, change)
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			err := f.ConsumeProfiles(ctx, upload("checkout", 1, 1))
			require.ErrorIs(t, err, context.Canceled)
			assert.False(t, consumererror.IsPermanent(err))
			assert.Zero(t, f.next.calls())
		})
	}
}

// By default, what leaves keeps all rules of strict readers, but for what only the sender knows.
func TestMessagesComeOutAsStrictReadersTakeThem(t *testing.T) {
	f := start(t, &sink{}, nil)
	rapid.Check(t, func(rt *rapid.T) {
		pd := gen.Profiles().Draw(rt, "message")
		for _, function := range pd.Dictionary().FunctionTable().All() {
			function.SetStartLine(-function.StartLine())
		}
		f.next.forget()
		require.NoError(rt, f.ConsumeProfiles(t.Context(), pd))
		for _, out := range f.next.taken() {
			require.NoError(rt, profiletest.CheckOptions{Deduplicated: true, AllowMixedShapes: true}.Check(out))
		}
	})
}

// A canonical message is passed on unchanged, and is not copied.
func TestCanonicalMessageIsUnchanged(t *testing.T) {
	pd := upload("checkout", 1, 1, 2)
	next := &sink{answer: func(_ int, got pprofile.Profiles) error {
		assert.True(t, got.IsReadOnly(), "a copy would not be")
		return nil
	}}
	f := start(t, next, nil)
	pd.MarkReadOnly()
	require.NoError(t, f.ConsumeProfiles(t.Context(), pd))
	assert.Equal(t, 1, next.calls())
}

// The processor never changes a read-only message.
func TestReadOnlyMessagesAreNotChanged(t *testing.T) {
	for name, change := range configurations() {
		t.Run(name, func(t *testing.T) {
			// A repeated profile waits for the batch with its first copy.
			eachPooling(t, func(t *testing.T) { readOnlyMessages(t, change) })
		})
	}
}

func readOnlyMessages(t *testing.T, change func(*Config)) {
	t.Helper()
	next := &sink{}
	f := start(t, next, change)
	for i, pd := range []pprofile.Profiles{
		upload("canonical", 1, 1, 2, 3),
		gen.Disarrange(upload("untidy", 2, 1, 2, 3), rand.New(rand.NewPCG(1, 2))),
		together(upload("repeated", 1, 1, 2, 3), upload("new", 3, 1)),
		spoil(upload("broken", 4, 1)),
	} {
		before := clone(pd)
		pref.MarkPipelineOwnedProfiles(pd) // another component frees it
		pd.MarkReadOnly()
		require.NotPanics(t, func() { require.NoError(t, f.ConsumeProfiles(t.Context(), pd)) })
		require.NoError(t, f.ConsumeProfiles(t.Context(), clone(pd)))
		assert.Equal(t, before, clone(pd), "message %d", i)
	}
	require.NoError(t, f.Shutdown(t.Context()))
	assert.NotEmpty(t, next.taken())
}

func TestErrorsGoToTheCaller(t *testing.T) {
	refusal := errors.New("not now")
	for _, change := range []func(*Config){nil, repeatedOf(nil)} {
		next := &sink{answer: func(call int, _ pprofile.Profiles) error {
			switch call {
			case 1:
				return refusal
			case 2:
				return consumererror.NewPermanent(refusal)
			default:
				return nil
			}
		}}
		f := start(t, next, change)
		err := f.ConsumeProfiles(t.Context(), upload("checkout", 1, 1))
		require.ErrorIs(t, err, refusal)
		assert.False(t, consumererror.IsPermanent(err))
		err = f.ConsumeProfiles(t.Context(), upload("checkout", 1, 1))
		require.ErrorIs(t, err, refusal)
		assert.True(t, consumererror.IsPermanent(err))
		require.NoError(t, f.ConsumeProfiles(t.Context(), upload("checkout", 1, 1)))
		assert.Equal(t, map[string]int64{"checkout/1": 1}, next.totals())
	}
}

func TestOnInvalid(t *testing.T) {
	message := func() pprofile.Profiles {
		return together(upload("good", 1, 1, 2), spoil(upload("bad", 2, 3, 4)))
	}
	for _, batch := range []func(*Config){func(*Config) {}, batchOf(nil)} {
		for action, want := range map[dedup.OnInvalid]map[string]int64{
			dedup.DropProfile: {"good/1": 3},
			dedup.Reject:      {},
			dedup.Pass:        {"good/1": 3, "bad/2": 7},
		} {
			next := &sink{}
			f := start(t, next, func(cfg *Config) {
				batch(cfg)
				cfg.OnInvalid = action
			})
			err := f.ConsumeProfiles(t.Context(), message())
			if action == dedup.Reject {
				require.ErrorContains(t, err, " is invalid: ")
				assert.True(t, consumererror.IsPermanent(err))
				assert.Equal(t, codes.InvalidArgument, status.Code(err), "what an OTLP receiver answers")
			} else {
				require.NoError(t, err)
			}
			require.NoError(t, f.ConsumeProfiles(t.Context(), upload("later", 3, 5)), "the next message goes its way")
			require.NoError(t, f.Shutdown(t.Context()))
			want["later/3"] = 5
			assert.Equal(t, want, next.totals(), action)
		}
	}
}

// A message without remaining profiles is not passed on.
func TestEmptyResult(t *testing.T) {
	for name, change := range configurations() {
		t.Run(name, func(t *testing.T) {
			next := &sink{}
			f := start(t, next, change)
			require.NoError(t, f.ConsumeProfiles(t.Context(), pprofile.NewProfiles()))
			require.NoError(t, f.ConsumeProfiles(t.Context(), spoil(upload("bad", 1, 1))))
			require.NoError(t, f.Shutdown(t.Context()))
			assert.Zero(t, next.calls())
		})
	}
}

// A long string to which many attributes refer is small on the wire and in memory, but readers read it many times.
func TestSharedLongString(t *testing.T) {
	text := strings.Repeat("x", 1<<20)
	pd := upload("checkout", 1, 1)
	list := pd.ResourceProfiles().At(0).Resource().Attributes().PutEmptySlice("list")
	for range 600 {
		list.AppendEmpty().SetStr(text)
	}
	f := start(t, &sink{}, nil)
	err := f.ConsumeProfiles(t.Context(), pd)
	require.ErrorContains(t, err, "bytes in protobuf, at most 536870912 are allowed")
	assert.True(t, consumererror.IsPermanent(err))
	f.assertPoints(t, "refused_messages", points(1, because("too_large")))
}
