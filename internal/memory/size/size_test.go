// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package size_test

import (
	"maps"
	"path"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/memory/size"
	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

func TestTwiceCoversTheHeap(t *testing.T) {
	messages := profiletest.HostileMessages(t, 5_000) // So many take far more memory than the rest of the message.
	maps.Copy(messages, ownMessages(t))
	for name, message := range messages {
		t.Run(name, func(t *testing.T) {
			held := make([]pprofile.Profiles, 1+100_000/len(message))
			// The messages are first as they are unmarshalled, then copies, which are allocated in another way.
			for _, copied := range []bool{false, true} {
				clear(held)
				before := profiletest.LiveHeap()
				for i := range held {
					pd := unmarshal(t, message)
					held[i] = pd
					if copied {
						held[i] = pprofile.NewProfiles()
						pd.CopyTo(held[i])
					}
				}
				actual := int64(profiletest.LiveHeap()-before) / int64(len(held))
				t.Logf("%d bytes on the wire, %d in memory, twice is %d", len(message), actual, 2*size.Of(held[0]))
				assert.GreaterOrEqual(t, 2*size.Of(held[0]), actual)
				assert.Less(t, 2*size.Of(held[0]), 3*actual+1000)
			}
			runtime.KeepAlive(held)
		})
	}
}

// The estimate must be about right for any message, since it limits the held bytes. The bounds allow for the unused capacity
// of slices, which depends on how they grew.
func TestMemoryEstimate(t *testing.T) {
	messages := ownMessages(t)
	maps.Copy(messages, profiletest.HostileMessages(t, 20_000))
	delete(messages, "attributes of a scope") // Their keys are also in the string table, and count twice.
	for name, message := range messages {
		count := 1 + 1_000_000/len(message)
		held := make([]pprofile.Profiles, count)
		before := profiletest.LiveHeap()
		for i := range held {
			held[i] = unmarshal(t, message)
		}
		actual := float64(profiletest.LiveHeap()-before) / float64(count)
		estimate := float64(size.Of(held[0]))
		t.Logf("%-30s %8d bytes on the wire, %9.0f in memory, estimated %9.0f", name, len(message), actual, estimate)
		assert.InDelta(t, 1, estimate/actual, 0.35, name)
		runtime.KeepAlive(held)
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
		messages[file.Name] = marshal(tb, pd)
	}
	return messages
}

func marshal(tb testing.TB, pd pprofile.Profiles) []byte {
	tb.Helper()
	message, err := (&pprofile.ProtoMarshaler{}).MarshalProfiles(pd)
	require.NoError(tb, err)
	return message
}

func unmarshal(tb testing.TB, message []byte) pprofile.Profiles {
	tb.Helper()
	pd, err := (&pprofile.ProtoUnmarshaler{}).UnmarshalProfiles(message)
	require.NoError(tb, err)
	return pd
}

func BenchmarkOf(b *testing.B) {
	for name, message := range ownMessages(b) {
		b.Run("profile="+path.Base(name), func(b *testing.B) {
			pd := unmarshal(b, message)
			b.SetBytes(int64(len(message)))
			b.ReportAllocs()
			for b.Loop() {
				size.Of(pd)
			}
		})
	}
}
