// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprof_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/otelpprof/otelpprof/internal/dictionary"
	"github.com/otelpprof/otelpprof/internal/testkit/memorytest"
	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

// slow is the time of a processor that no message of this file takes. Each took far longer when what its profiles share was read for each.
const slow = 2500 * time.Millisecond

// atTimes adds profiles with a sample of a stack, each of a time of its own.
func (m *message) atTimes(n int, stack int32, attributes ...int32) {
	for i := range n {
		p := m.profile("cpu/nanoseconds")
		p.SetTime(pcommon.Timestamp(1000 + i))
		p.AttributeIndices().FromRaw(attributes)
		m.sample(p, stack, []int64{1})
	}
}

// TestSharedEntriesCostOnce: what many profiles share costs its size once, not for each pprof.
func TestSharedEntriesCostOnce(t *testing.T) {
	wide := map[string]any{}
	for i := range 100_000 {
		wide[strconv.Itoa(i)] = int64(i)
	}
	for name, test := range map[string]struct {
		message  func(m *message)
		profiles int
	}{
		"the text of an attribute of profiles": {func(m *message) { m.atTimes(50, m.stack("f"), m.attribute("wide", wide, "")) }, 50},
		"the text of a comment":                {func(m *message) { m.atTimes(50, m.stack("f"), m.attribute("pprof.profile.comment", []any{wide}, "")) }, 50},
		"the text of a label": {func(m *message) {
			label := m.attribute("wide", wide, "")
			m.atTimes(50, m.stack("f"))
			for _, p := range m.scope().Profiles().All() {
				p.Samples().At(0).AttributeIndices().Append(label)
			}
		}, 50},
		"attributes of a location": {func(m *message) {
			folded := m.attribute("pprof.location.is_folded", true, "")
			many := make([]int32, 250_000)
			for i := range many {
				many[i] = folded
			}
			location := m.dict.Location(dictionary.Location{Address: 1}, nil, many)
			m.atTimes(2000, m.dict.Stack([]int32{location}))
		}, 2000},
		"attributes of a mapping": {func(m *message) {
			many := make([]int32, 250_000)
			for i := range many {
				many[i] = m.attribute("pprof.mapping.has_functions", true, "")
			}
			mapping := m.dict.Mapping(dictionary.Mapping{Start: 1, Limit: 2}, many)
			m.atTimes(2000, m.dict.Stack([]int32{m.dict.Location(dictionary.Location{Address: 1, Mapping: mapping}, nil, nil)}))
		}, 2000},
		"attributes of a scope": {func(m *message) {
			attributes := m.scope().Scope().Attributes()
			require.NoError(t, attributes.FromRaw(wide))
			require.NoError(t, attributes.PutEmptyMap("pprof.scope.default_sample_type").FromRaw(wide))
			m.atTimes(500, m.stack("f"))
		}, 500},
		"the default sample type of scopes": {func(m *message) {
			long := strings.Repeat("a", 8<<20)
			for range 10_000 {
				m.pd.ResourceProfiles().At(0).ScopeProfiles().AppendEmpty().Scope().Attributes().PutStr("pprof.scope.default_sample_type", long)
			}
		}, 0},
		"a build id": {func(m *message) {
			id := m.attribute("process.executable.build_id.gnu", strings.Repeat("a", 1<<20), "")
			var locations []int32
			for i := range uint64(100_000) {
				mapping := m.dict.Mapping(dictionary.Mapping{Start: i + 1, Limit: i + 2}, []int32{id})
				locations = append(locations, m.dict.Location(dictionary.Location{Address: i, Mapping: mapping}, nil, nil))
			}
			m.atTimes(1, m.dict.Stack(locations))
		}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMessage()
			test.message(m)
			pd := m.done()
			pprofs := 0
			assert.Less(t, profiletest.CPUTime(func() {
				for _, err := range pprof.NewEncoder(pprof.EncodeOptions{}).All(pd) {
					require.NoError(t, err)
					pprofs++
				}
			}), slow)
			assert.Equal(t, test.profiles, pprofs)
		})
	}
}

// TestLongStackThatIsInvalid: a stack with an invalid location is read once, however many profiles have it.
func TestLongStackThatIsInvalid(t *testing.T) {
	m := newMessage()
	location := m.dict.Location(dictionary.Location{Address: 1}, nil, nil)
	locations := slices.Repeat([]int32{location}, 500_000)
	m.atTimes(1, m.dict.Stack(locations))
	locations[len(locations)-1] = 7
	m.atTimes(3000, m.dict.Stack(locations))
	faults, reserved := 0, int64(0)
	assert.Less(t, profiletest.CPUTime(func() {
		for _, err := range pprof.NewEncoder(pprof.EncodeOptions{}).AllReserving(m.done(), func(total int64) error {
			reserved = total
			return nil
		}) {
			if err != nil {
				assert.ErrorContains(t, err, "index 7 of the location table")
				faults++
			}
		}
	}), slow)
	assert.Equal(t, 3000, faults)
	assert.Less(t, reserved, int64(64<<20))
}

// TestManyEventsOfOneTime: events of one time are one row, whose attributes are looked up once.
func TestManyEventsOfOneTime(t *testing.T) {
	m := newMessage()
	attributes := make([]int32, 2000)
	for i := range attributes {
		attributes[i] = m.attribute("key"+strconv.Itoa(i), int64(i), "")
	}
	sample := m.sample(m.profile("cpu/nanoseconds"), m.stack("f"), nil, attributes...)
	for i := range uint64(1_000_000) {
		sample.TimestampsUnixNano().Append(5 + i%2)
	}
	pd := m.done()
	assert.Less(t, profiletest.CPUTime(func() {
		for payload, err := range pprof.NewEncoder(pprof.EncodeOptions{TimestampLabels: true}).All(pd) {
			require.NoError(t, err)
			parsed, _ := profiletest.ParsePprof(payload.Pprof)
			require.Len(t, parsed.Sample, 2)
			assert.Equal(t, []int64{500_000}, parsed.Sample[0].Value)
		}
	}), slow)
}

// TestRefusedTextsAreWork: profiles that are refused for their texts count, so that not all of a message are tried.
func TestRefusedTextsAreWork(t *testing.T) {
	m := newMessage()
	long := m.attribute("long", strings.Repeat("x", 1<<20), "")
	for i := range 2000 {
		p := m.profileIn(m.addResource(strconv.Itoa(i)), "cpu/nanoseconds")
		p.AttributeIndices().Append(long)
		m.sample(p, m.stack("f"), []int64{1})
	}
	last := ""
	written := 0
	for _, err := range pprof.NewEncoder(pprof.EncodeOptions{PprofBytes: 16 << 20}).All(m.done()) {
		if err != nil {
			last = err.Error()
		} else {
			written++
		}
	}
	assert.Equal(t, 15, written)
	assert.Contains(t, last, "bytes of pprofs that are too large")
}

// TestTextsAreReserved: the texts of comments are made only with memory for them, and not above the limit of the pprof.
func TestTextsAreReserved(t *testing.T) {
	key := strings.Repeat("k", 1<<20)
	profileComments := func(m *message) {
		p := m.profile("cpu/nanoseconds")
		for i := range 200 {
			p.AttributeIndices().Append(m.dict.IntAttribute(m.dict.String(key), 0, int64(i)))
		}
	}
	resourceComments := func(m *message) {
		attributes := m.pd.ResourceProfiles().At(0).Resource().Attributes()
		for i := range 200 {
			attributes.PutStr(strconv.Itoa(i), key)
		}
		m.profile("cpu/nanoseconds")
	}
	for name, fill := range map[string]func(m *message){"of the profile": profileComments, "of the resource": resourceComments} {
		for limit, bytes := range map[string]int{"of the pprof": 16 << 20, "of memory": 1 << 30} {
			m := newMessage()
			fill(m)
			pd := m.done()
			var err error
			allocated := memorytest.Allocated(func() {
				encoder := pprof.NewEncoder(pprof.EncodeOptions{PprofBytes: bytes, ResourceComments: true})
				for _, fault := range encoder.AllReserving(pd, func(total int64) error {
					if total > 20<<20 {
						return pprof.ErrTooLarge
					}
					return nil
				}) {
					err = fault
				}
			})
			require.ErrorIs(t, err, pprof.ErrTooLarge, "%s, limit %s", name, limit)
			assert.Less(t, allocated, int64(30<<20), "%s, limit %s", name, limit)
		}
	}
}

// TestLongBuildIDOfManyMappings: a decoder does not read a text of a pprof for each mapping that has it.
func TestLongBuildIDOfManyMappings(t *testing.T) {
	payload := wire{}.message(6, nil).message(6, wire(strings.Repeat("a", 1<<20))).message(1, nil)
	payload = payload.with(each(3, 200_000, func(i uint64) wire { return wire{}.number(1, i+1).number(2, i).number(3, i+1).number(6, 1) }))
	payload = payload.with(each(4, 200_000, func(i uint64) wire { return wire{}.number(1, i+1).number(2, i+1) }))
	payload = payload.message(2, wire{}.message(1, ids(200_000)).message(2, wire{1}))
	assert.Less(t, profiletest.CPUTime(func() {
		pd, _, err := pprof.NewDecoder(pprof.DecodeOptions{Limits: pprof.Limits{LocationsPerSample: 200_000}}).Decode(payload, pprof.Source{})
		require.NoError(t, err)
		require.Equal(t, 200_001, pd.Dictionary().MappingTable().Len())
	}), slow/2)
}
