// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profilededuplicator

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/pdata/pprofile"
	"go.opentelemetry.io/collector/pdata/xpdata/entity"
	"pgregory.net/rapid"

	"github.com/otelpprof/otelpprof/internal/dedup"
	"github.com/otelpprof/otelpprof/internal/dictionary"
	"github.com/otelpprof/otelpprof/internal/memory"
	"github.com/otelpprof/otelpprof/internal/testkit/budgettest"
	"github.com/otelpprof/otelpprof/internal/testkit/must"
	"github.com/otelpprof/otelpprof/internal/testkit/profiletest/gen"
)

// groupBy enables group_by_attributes, in addition to change.
func groupBy(change func(*Config)) func(*Config) {
	return func(cfg *Config) {
		cfg.GroupByAttributes = []string{"service.name"}
		if change != nil {
			change(cfg)
		}
	}
}

// ofServices returns a message with a sample of 1, 2, 4 and so on for each service, which only its samples name.
func ofServices(id byte, services ...string) pprofile.Profiles {
	values := make([]int64, len(services))
	for i := range services {
		values[i] = 1 << i
	}
	pd := upload("host", id, values...)
	d := pd.Dictionary()
	d.StringTable().Append("service.name")
	key := int32(d.StringTable().Len() - 1)
	for i, service := range services {
		a := d.AttributeTable().AppendEmpty()
		a.SetKeyStrindex(key)
		a.Value().SetStr(service)
		sample := pd.ResourceProfiles().At(0).ScopeProfiles().At(0).Profiles().At(0).Samples().At(i)
		sample.AttributeIndices().Append(int32(d.AttributeTable().Len() - 1))
	}
	return pd
}

// byService adds up totals by service, whatever the ids are.
func byService(messages ...pprofile.Profiles) map[string]int64 {
	sums := map[string]int64{}
	for name, sum := range totals(messages...) {
		service, _, _ := strings.Cut(name, "/")
		sums[service] += sum
	}
	return sums
}

func TestGroupByAttributes(t *testing.T) {
	for name, change := range map[string]func(*Config){
		"alone":        nil,
		"with a batch": waitOf(func(cfg *BatchConfig) { cfg.MaxSamples = 1 }),
		"checked, with a batch": func(cfg *Config) {
			waitOf(func(cfg *BatchConfig) { cfg.MaxSamples = 1 })(cfg)
			cfg.OnInvalid = dedup.Reject
		},
	} {
		for _, shared := range []bool{false, true} {
			t.Run(fmt.Sprint(name, ", shared=", shared), func(t *testing.T) {
				next := &sink{}
				f := start(t, next, groupBy(change))
				pd := ofServices(1, "checkout", "billing", "checkout")
				if shared {
					pd.MarkReadOnly()
				}
				require.NoError(t, f.ConsumeProfiles(t.Context(), pd))
				assert.Equal(t, map[string]int64{"checkout": 5, "billing": 2}, byService(next.taken()...))
				for _, pd := range next.taken() {
					requireCanonical(t, pd)
				}
				assert.Zero(t, f.used())
			})
		}
	}
}

// Values that refer to strings of the dictionary are those strings, before anything else changes the dictionary. pdata reads them as empty.
func TestValuesThatReferToStrings(t *testing.T) {
	for name, change := range map[string]func(*Config){"alone": nil, "with a batch": waitOf(func(cfg *BatchConfig) { cfg.MaxSamples = 1 })} {
		next := &sink{}
		f := start(t, next, groupBy(change))
		pd := ofServices(1, "checkout", "billing", "checkout")
		texts := pd.Dictionary().StringTable()
		texts.Append("unused", "checkout", "billing")
		references := strings.NewReplacer(`{"stringValue":"checkout"}`, fmt.Sprintf(`{"stringValueStrindex":%d}`, texts.Len()-2),
			`{"stringValue":"billing"}`, fmt.Sprintf(`{"stringValueStrindex":%d}`, texts.Len()-1))
		json := must.Get((&pprofile.JSONMarshaler{}).MarshalProfiles(pd))(t)
		pd = must.Get((&pprofile.JSONUnmarshaler{}).UnmarshalProfiles([]byte(references.Replace(string(json)))))(t)
		require.NoError(t, f.ConsumeProfiles(t.Context(), pd))
		assert.Equal(t, map[string]int64{"checkout": 5, "billing": 2}, byService(next.taken()...), name)
	}
}

// A repeated message is dropped although its profiles have other ids when they are delivered.
func TestGroupsAreRepeated(t *testing.T) {
	next := &sink{}
	f := start(t, next, groupBy(repeatedOf(nil)))
	for range 2 {
		require.NoError(t, f.ConsumeProfiles(t.Context(), ofServices(1, "checkout", "billing")))
	}
	assert.Equal(t, map[string]int64{"checkout": 1, "billing": 2}, byService(next.taken()...))
}

// A message whose groups need more than there is is refused before they are made.
func TestGroupsAreReserved(t *testing.T) {
	services := make([]string, 62)
	for i := range services {
		services[i] = fmt.Sprint("service-", i)
	}
	pd := ofServices(1, services...)
	pd.ResourceProfiles().At(0).Resource().Attributes().PutStr("large", strings.Repeat("x", 100_000))
	next := &sink{}
	f := startWithin(t, 5_000_000, next, groupBy(nil))
	err := f.ConsumeProfiles(t.Context(), pd)
	require.ErrorContains(t, err, "exceeds the memory budget")
	assert.True(t, consumererror.IsPermanent(err))
	assert.Empty(t, next.taken())

	f = startWithin(t, 50_000_000, next, groupBy(nil))
	require.NoError(t, f.ConsumeProfiles(t.Context(), pd))
	assert.Len(t, byService(next.taken()...), len(services))
}

// The estimate covers what the copies take.
func TestCopiesMemory(t *testing.T) {
	pd := ofServices(1, "checkout", "billing", "checkout", "search")
	// Entity references are many times larger in memory than on the wire, and each resource gets a copy.
	references := entity.ResourceEntityRefs(pd.ResourceProfiles().At(0).Resource())
	for range 10_000 {
		references.AppendEmpty()
	}
	f := start(t, &sink{}, groupBy(nil))
	reservation, err := budgettest.Reserve(t.Context(), f.budget, dictionary.MessageMemory(pd))
	require.NoError(t, err)
	m := incoming{profiles: pd}
	require.NoError(t, f.Profiles.(*deduplicator).group(memory.NewContext(t.Context(), reservation), &m))
	assert.GreaterOrEqual(t, reservation.Bytes(), dictionary.MessageMemory(m.profiles))
	assert.Equal(t, 10_000, entity.ResourceEntityRefs(m.profiles.ResourceProfiles().At(2).Resource()).Len())
	reservation.Release()
}

// TestOutgoingSize: the size of a message after deduplication is right, whether the tables have changed or not.
func TestOutgoingSize(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pd := gen.Profiles().Draw(t, "message")
		if rapid.Bool().Draw(t, "disarranged") {
			pd = gen.Disarrange(pd, rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0)))
		}
		m := incoming{profiles: pd, content: contentOf(pd)}
		var stats dedup.Stats
		var err error
		m.profiles, stats, err = dedup.New(dedup.Options{}).Deduplicate(pd)
		require.NoError(t, err)
		require.Equal(t, contentOf(m.profiles), m.outgoing(&stats))
	})
}
