// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofmerge_test

import (
	"bytes"
	"slices"
	"strconv"
	"testing"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/otelpprof/otelpprof/internal/pprofmerge"
	"github.com/otelpprof/otelpprof/internal/pprofwire"
	"github.com/otelpprof/otelpprof/internal/profiletest"
	"github.com/otelpprof/otelpprof/internal/profiletest/gen"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type testingT interface {
	require.TestingT
	Helper()
}

func raw(t testingT, p *profile.Profile) []byte {
	t.Helper()
	var out bytes.Buffer
	require.NoError(t, p.WriteUncompressed(&out))
	return out.Bytes()
}

// sum merges profiles with what is tested, and reads the result as tools do.
func sum(t testingT, profiles ...*profile.Profile) (*profile.Profile, error) {
	t.Helper()
	m := pprofmerge.New()
	for _, p := range profiles {
		if err := m.Add(raw(t, p), nil); err != nil {
			return nil, err
		}
	}
	if err := m.Comparable(); err != nil {
		return nil, err
	}
	written := m.Append(nil)
	require.NoError(t, pprofmerge.Check(written, nil))
	assert.Equal(t, written, m.Append(nil), "writing changes nothing")
	merged, err := profile.ParseUncompressed(written)
	require.NoError(t, err)
	require.NoError(t, merged.CheckValid())
	return merged, nil
}

// googleSum merges profiles of the same types as go tool pprof does.
func googleSum(t testingT, profiles ...*profile.Profile) (*profile.Profile, error) {
	t.Helper()
	copies := make([]*profile.Profile, len(profiles))
	for i, p := range profiles {
		copied, err := profile.ParseUncompressed(raw(t, p)) // as only what is written counts
		require.NoError(t, err)
		copies[i] = copied
	}
	return profile.Merge(copies)
}

// later is a copy of a profile from another run: loaded elsewhere, with other values, without some samples.
func later(p *profile.Profile, step uint64) *profile.Profile {
	p = p.Copy()
	for _, m := range p.Mapping {
		if m.Start > 0 {
			m.Start, m.Limit = m.Start+step<<12, m.Limit+step<<12
		}
	}
	for _, l := range p.Location {
		if l.Mapping != nil && l.Mapping.Start > 0 {
			l.Address += step << 12
		}
	}
	p.TimeNanos += int64(step)
	p.Comments = append(slices.Clone(p.Comments), "later")
	kept := p.Sample[:0]
	for i, s := range p.Sample {
		if uint64(i)%(step+2) == 0 {
			continue
		}
		for j := range s.Value {
			s.Value[j] *= int64(step + 1)
		}
		kept = append(kept, s)
	}
	p.Sample = kept
	slices.Reverse(p.Sample)
	return p
}

// The sum is the one that google/pprof makes.
func TestSumIsThatOfGoogle(t *testing.T) {
	for _, file := range profiletest.OwnPprofs(t) {
		t.Run(file.Name, func(t *testing.T) {
			p, err := profile.ParseData(file.Bytes(t))
			require.NoError(t, err)
			for n := 1; n <= 4; n++ {
				profiles := []*profile.Profile{p}
				for i := 1; i < n; i++ {
					profiles = append(profiles, later(p, uint64(i)))
				}
				want, err := googleSum(t, profiles...)
				require.NoError(t, err)
				got, err := sum(t, profiles...)
				require.NoError(t, err)
				require.Empty(t, profiletest.DiffPprof(want, got), n)
				assert.Len(t, got.Sample, len(want.Sample))
				assert.Len(t, got.Location, len(want.Location))
				assert.Len(t, got.Function, len(want.Function))
				assert.Len(t, got.Mapping, len(want.Mapping))
			}
		})
	}
}

// So it is for real profiles, of many producers.
func TestSumOfTheCorpus(t *testing.T) {
	if testing.Short() {
		t.Skip("reads the whole corpus")
	}
	sums := 0
	for _, file := range profiletest.CorpusPprofs(t) {
		payload := file.Bytes(t)
		p, err := profile.ParseData(payload)
		if err != nil || p.CheckValid() != nil || len(p.SampleType) == 0 || len(payload) > 1<<20 {
			continue
		}
		profiles := []*profile.Profile{p.Copy(), later(p, 1), later(p, 2)}
		profiles[0].TimeNanos, profiles[1].TimeNanos, profiles[2].TimeNanos = 3, 1, 2 // google/pprof takes no time for the earliest
		want, err := googleSum(t, profiles...)
		require.NoError(t, err, file.Name)
		got, err := sum(t, profiles...)
		require.NoError(t, err, file.Name)
		require.Empty(t, profiletest.DiffPprof(want, got), file.Name)
		assert.Len(t, got.Sample, len(want.Sample), file.Name)
		sums++
	}
	assert.Greater(t, sums, 20)
}

// Drawn profiles have what real ones have seldom: odd labels, empty names, entries that nothing reaches.
func TestSumOfDrawn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		// Copy leaves out what google/pprof does not read: labels that are the number 0 without a unit.
		p := gen.Pprof().Draw(t, "profile").Copy()
		p.TimeNanos = max(p.TimeNanos, 1) // google/pprof takes no time for the earliest
		profiles := []*profile.Profile{p}
		for i := range rapid.IntRange(0, 3).Draw(t, "others") {
			profiles = append(profiles, later(p, uint64(i+1)))
		}
		want, err := googleSum(t, profiles...)
		require.NoError(t, err)
		got, err := sum(t, profiles...)
		if len(p.SampleType) == 0 {
			require.ErrorIs(t, err, pprofmerge.ErrDiffers)
			return
		}
		require.NoError(t, err)
		require.Empty(t, profiletest.DiffPprof(want, got))
	})
}

func simple(values []int64, types ...string) *profile.Profile {
	f := &profile.Function{ID: 1, Name: "f"}
	l := &profile.Location{ID: 1, Line: []profile.Line{{Function: f, Line: 1}}}
	p := &profile.Profile{Function: []*profile.Function{f}, Location: []*profile.Location{l}, PeriodType: &profile.ValueType{}}
	for _, name := range types {
		p.SampleType = append(p.SampleType, &profile.ValueType{Type: name, Unit: "count"})
	}
	p.Sample = []*profile.Sample{{Location: []*profile.Location{l}, Value: values}}
	return p
}

// labelled has labels of all kinds, and a mapping.
func labelled() *profile.Profile {
	p := simple([]int64{1}, "a")
	p.Mapping = []*profile.Mapping{{ID: 1, Start: 1 << 20, Limit: 1 << 21, File: "/bin/app", BuildID: "b", HasFunctions: true}}
	p.Location[0].Mapping, p.Location[0].Address, p.Location[0].IsFolded = p.Mapping[0], 1<<20+5, true
	p.Sample[0].Label = map[string][]string{"k": {"v", "w"}}
	p.Sample[0].NumLabel = map[string][]int64{"k": {1, 1 << 40}, "bytes": {-7}}
	p.Sample[0].NumUnit = map[string][]string{"k": {"u", ""}}
	return p
}

// totalsByType returns the sum of the values of each type.
func totalsByType(p *profile.Profile) map[string]int64 {
	sums := map[string]int64{}
	for i, t := range p.SampleType {
		for _, s := range p.Sample {
			sums[t.Type] += s.Value[i]
		}
	}
	return sums
}

// The sum has the types of all pprofs: nothing is lost, whichever came first. The last type of the first pprof, which tools show, stays
// the last one.
func TestTypesOfAll(t *testing.T) {
	abc, ca, ad := simple([]int64{1, 2, 3}, "a", "b", "c"), simple([]int64{10, 20}, "c", "a"), simple([]int64{100, 200}, "a", "d")
	for _, each := range []struct {
		profiles []*profile.Profile
		types    []string
	}{
		{[]*profile.Profile{abc, ca, ad}, []string{"a", "b", "d", "c"}},
		{[]*profile.Profile{ca, ad, abc}, []string{"c", "d", "b", "a"}},
		{[]*profile.Profile{ad, abc, ca}, []string{"a", "b", "c", "d"}},
	} {
		got, err := sum(t, each.profiles...)
		require.NoError(t, err)
		var types []string
		for _, each := range got.SampleType {
			types = append(types, each.Type)
		}
		assert.Equal(t, each.types, types)
		require.Len(t, got.Sample, 1)
		assert.Equal(t, map[string]int64{"a": 121, "b": 2, "c": 13, "d": 200}, totalsByType(got))
	}
	// A recording with allocations outside of a TLAB, and one without.
	for range 2 {
		abc, ca = ca, abc
		got, err := sum(t, abc, ca)
		require.NoError(t, err)
		assert.EqualValues(t, 2, totalsByType(got)["b"])
	}
	twice, err := sum(t, simple([]int64{1}, "a"), simple([]int64{10, 20}, "a", "a"))
	require.NoError(t, err)
	assert.Equal(t, []int64{20, 11}, twice.Sample[0].Value, "a type that is there twice")
}

// The type that is shown first is that of the first pprof: its default, or else its last type.
func TestDefaultOfTheFirst(t *testing.T) {
	without, with := simple([]int64{1, 2}, "a", "b"), simple([]int64{10, 20}, "c", "a")
	with.DefaultSampleType = "c"
	got, err := sum(t, without, with)
	require.NoError(t, err)
	assert.Empty(t, got.DefaultSampleType)
	assert.Equal(t, "b", got.SampleType[len(got.SampleType)-1].Type)
	got, err = sum(t, with, without)
	require.NoError(t, err)
	assert.Equal(t, "c", got.DefaultSampleType)
}

func TestTypesThatDiffer(t *testing.T) {
	_, err := sum(t, simple([]int64{1}, "a"), simple([]int64{1}, "b"))
	require.ErrorIs(t, err, pprofmerge.ErrDiffers)
	ab, ac, cd, e := simple([]int64{1, 2}, "a", "b"), simple([]int64{1, 2}, "a", "c"), simple([]int64{1, 2}, "c", "d"), simple([]int64{1}, "e")
	for _, profiles := range [][]*profile.Profile{{ab, cd, ac}, {cd, ab, ac}, {ac, cd, ab}} {
		got, err := sum(t, profiles...)
		require.NoError(t, err, "two have nothing in common but the third")
		assert.Equal(t, map[string]int64{"a": 2, "b": 2, "c": 3, "d": 2}, totalsByType(got))
		_, err = sum(t, append(profiles, e)...)
		require.ErrorIs(t, err, pprofmerge.ErrDiffers)
	}
	other := simple([]int64{1}, "a")
	other.SampleType[0].Unit = "bytes"
	_, err = sum(t, simple([]int64{1}, "a"), other)
	require.ErrorIs(t, err, pprofmerge.ErrDiffers)
	other = simple([]int64{1}, "a")
	other.PeriodType = &profile.ValueType{Type: "cpu"}
	_, err = sum(t, simple([]int64{1}, "a"), other)
	require.ErrorIs(t, err, pprofmerge.ErrDiffers)
}

// The number of types of a sum is bounded, as is that of a pprof.
func TestTooManyTypes(t *testing.T) {
	m := pprofmerge.New()
	for i := range 255 {
		require.NoError(t, m.Add(raw(t, simple([]int64{1, 2}, "a", strconv.Itoa(i))), nil))
	}
	require.NoError(t, m.Comparable())
	got, err := profile.ParseUncompressed(m.Append(nil))
	require.NoError(t, err)
	assert.EqualValues(t, 255, totalsByType(got)["a"])
	assert.EqualValues(t, 2, totalsByType(got)["17"])
	require.ErrorIs(t, m.Add(raw(t, simple([]int64{1, 2}, "a", "one more")), nil), pprofmerge.ErrDiffers)
}

// The memory of columns that are added is asked for.
func TestTypesAreReserved(t *testing.T) {
	f := &profile.Function{ID: 1, Name: "f"}
	many := &profile.Profile{
		Function: []*profile.Function{f}, PeriodType: &profile.ValueType{},
		SampleType: []*profile.ValueType{{Type: "a", Unit: "count"}},
	}
	for i := range 1000 {
		l := &profile.Location{ID: uint64(i + 1), Line: []profile.Line{{Function: f, Line: int64(i)}}}
		many.Location = append(many.Location, l)
		many.Sample = append(many.Sample, &profile.Sample{Location: []*profile.Location{l}, Value: []int64{1}})
	}
	types := []string{"a"}
	for i := range 99 {
		types = append(types, strconv.Itoa(i))
	}
	peak := int64(0)
	m := pprofmerge.New()
	m.Reserve = func(bytes int64) error {
		peak = max(peak, bytes)
		return nil
	}
	require.NoError(t, m.Add(raw(t, many), nil))
	before := peak
	require.NoError(t, m.Add(raw(t, simple(make([]int64, 100), types...)), nil))
	assert.Greater(t, peak, before+1000*99*8)
	assert.LessOrEqual(t, m.Bytes(), peak)
}

// What becomes 0 in the sum goes, with all that only it referred to.
func TestZerosGo(t *testing.T) {
	got, err := sum(t, simple([]int64{5, 7}, "a", "b"), simple([]int64{-5, -7}, "a", "b"))
	require.NoError(t, err)
	assert.Empty(t, got.Sample)
	assert.Empty(t, got.Location)
	assert.Empty(t, got.Function)
	got, err = sum(t, simple([]int64{0, 7}, "a", "b"), simple([]int64{0, -7, 0}, "a", "b", "c"))
	require.NoError(t, err)
	assert.Empty(t, got.Sample)
}

func TestSilentValues(t *testing.T) {
	m := pprofmerge.New()
	require.NoError(t, m.Add(raw(t, simple([]int64{1, 2}, "a", "b")), []int{0}))
	require.NoError(t, m.Add(raw(t, simple([]int64{10, 20}, "a", "b")), nil))
	require.NoError(t, m.Add(raw(t, simple([]int64{100, 200}, "a", "b")), []int{0, 1}))
	got, err := profile.ParseUncompressed(m.Append(nil))
	require.NoError(t, err)
	assert.Equal(t, []int64{10, 22}, got.Sample[0].Value)
}

func TestHeader(t *testing.T) {
	a, b, c := simple([]int64{1}, "a"), simple([]int64{1}, "a"), simple([]int64{1}, "a")
	a.DurationNanos, b.DurationNanos, c.DurationNanos = 1, 2, 3
	b.TimeNanos, c.TimeNanos = 50, 40
	a.Period, b.Period, c.Period = 5, 7, 6
	a.Comments, b.Comments = []string{"x", "y"}, []string{"y", "z", "x"}
	b.DocURL, c.DocURL = "http://b", "http://c"
	c.DefaultSampleType = "other"
	a.DropFrames, b.DropFrames = "drop", "other"
	got, err := sum(t, a, b, c)
	require.NoError(t, err)
	assert.EqualValues(t, 6, got.DurationNanos)
	assert.EqualValues(t, 40, got.TimeNanos, "a profile without a time does not reset it")
	assert.EqualValues(t, 7, got.Period)
	assert.Equal(t, []string{"x", "y", "z"}, got.Comments)
	assert.Equal(t, "http://b", got.DocURL)
	assert.Empty(t, got.DefaultSampleType, "the first has none")
	assert.Equal(t, "drop", got.DropFrames)
}

func TestRefused(t *testing.T) {
	for name, payload := range map[string][]byte{
		"nothing":         {},
		"no strings":      {0x0a, 0x00},
		"no location 9":   append([]byte{0x12, 0x02, 0x08, 0x09}, 0x32, 0x00),
		"too many values": append([]byte{0x12, 0x02, 0x10, 0x09}, 0x32, 0x00),
	} {
		require.ErrorIs(t, pprofmerge.New().Add(payload, nil), pprofwire.ErrMalformed, name)
		require.ErrorIs(t, pprofmerge.Check(payload, nil), pprofwire.ErrMalformed, name)
	}
}

// FuzzMerge: whatever is taken can be written, and is then read by us and by google/pprof.
func FuzzMerge(f *testing.F) {
	for _, p := range []*profile.Profile{simple([]int64{1, 2}, "a", "b"), simple([]int64{-1}, "b"), labelled()} {
		f.Add(raw(f, p), raw(f, later(p, 1)))
	}
	f.Fuzz(func(t *testing.T, a, b []byte) {
		m := pprofmerge.New()
		if m.Add(a, nil) != nil || m.Add(b, []int{0}) != nil {
			return
		}
		written := m.Append(nil)
		require.NoError(t, pprofmerge.Check(written, nil))
		again := pprofmerge.New()
		require.NoError(t, again.Add(written, nil))
		require.Equal(t, written, again.Append(nil), "the sum of one that was made is the same")
		_, err := profile.ParseUncompressed(written)
		require.NoError(t, err)
	})
}
