// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package dictionary_test

import (
	"maps"
	"math/rand/v2"
	"path"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pprofile"
	"pgregory.net/rapid"

	"github.com/otelpprof/otelpprof/internal/dictionary"
	"github.com/otelpprof/otelpprof/internal/memory"
	"github.com/otelpprof/otelpprof/internal/testkit/memorytest"
	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
	"github.com/otelpprof/otelpprof/internal/testkit/profiletest/gen"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

// TestMessageMemory: the reservation of a message is for what it uses, as it was unmarshalled and as a copy, which is allocated in another way.
func TestMessageMemory(t *testing.T) {
	messages := profiletest.HostileMessages(t, 5_000) // So many take far more memory than the rest of the message.
	maps.Copy(messages, ownMessages(t))
	for name, message := range messages {
		t.Run(name, func(t *testing.T) {
			for _, copied := range []bool{false, true} {
				memorytest.CheckHeld(t, memorytest.Most, 1+100_000/len(message), func() (pprofile.Profiles, int64) {
					pd := profiletest.Unmarshal(t, message)
					if copied {
						other := pprofile.NewProfiles()
						pd.CopyTo(other)
						pd = other
					}
					return pd, memory.MessageFactor * dictionary.MessageMemory(pd)
				})
			}
		})
	}
}

// ownMessages returns the profiles of testdata/pprof as OTLP bytes.
func ownMessages(tb testing.TB) map[string][]byte {
	tb.Helper()
	messages := map[string][]byte{}
	decoder := pprof.NewDecoder(pprof.DecodeOptions{})
	for _, file := range profiletest.OwnPprofs(tb) {
		pd, _, err := decoder.Decode(file.Bytes(tb), pprof.Source{})
		require.NoError(tb, err)
		messages[file.Name] = profiletest.Marshal(tb, pd)
	}
	return messages
}

func BenchmarkMessageMemory(b *testing.B) {
	for name, message := range ownMessages(b) {
		b.Run("profile="+path.Base(name), func(b *testing.B) {
			pd := profiletest.Unmarshal(b, message)
			b.SetBytes(int64(len(message)))
			b.ReportAllocs()
			for b.Loop() {
				dictionary.MessageMemory(pd)
			}
		})
	}
}

// TestEntryBytes: the sizes of the entries, with those of the resources, are that of the message.
func TestEntryBytes(t *testing.T) {
	messages := profiletest.HostileMessages(t, 20_000)
	maps.Copy(messages, ownMessages(t))
	for name, message := range messages {
		t.Run(name, func(t *testing.T) { requireSize(t, profiletest.Unmarshal(t, message)) })
	}
	t.Run("any", func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) {
			random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
			pd := gen.Disarrange(gen.Profiles().Draw(t, "message"), random)
			if rapid.Bool().Draw(t, "broken") {
				gen.Break(pd, rapid.SampledFrom(gen.Faults()).Draw(t, "fault"), random)
			}
			requireSize(t, pd)
		})
	})
}

func requireSize(t require.TestingT, pd pprofile.Profiles) {
	sizes := pprofile.ProtoMarshaler{}
	bytes := dictionary.FieldBytes(dictionary.Bytes(pd.Dictionary()))
	for _, resource := range pd.ResourceProfiles().All() {
		bytes += dictionary.FieldBytes(sizes.ResourceProfilesSize(resource))
	}
	require.Equal(t, sizes.ProfilesSize(pd), bytes)
}
