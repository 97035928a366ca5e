// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profilesymbolizer

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
	"github.com/otelpprof/otelpprof/processor/profilesymbolizer/internal/index"
)

// What a dictionary has is not added again, and two mappings of one binary have one function.
func TestKnownNames(t *testing.T) {
	c, cfg := programInDirectory(t)
	s, sink := symbolizerOf(t, nil, cfg)
	pd := messageOf(c)
	d := pd.Dictionary()
	d.MappingTable().At(1).CopyTo(d.MappingTable().AppendEmpty())
	for i := 1; i < d.LocationTable().Len(); i += 2 {
		d.LocationTable().At(i).SetMappingIndex(2)
	}
	require.NoError(t, s.ConsumeProfiles(t.Context(), pd))
	lengths := func() []int {
		d := last(sink).Dictionary()
		return []int{d.StringTable().Len(), d.FunctionTable().Len(), d.AttributeTable().Len()}
	}
	want := lengths()
	assert.Equal(t, 3, want[1], "none, outer and inner")
	again := pprofile.NewProfiles()
	last(sink).CopyTo(again)
	for _, l := range again.Dictionary().LocationTable().All() {
		l.Lines().RemoveIf(func(pprofile.Line) bool { return true })
	}
	require.NoError(t, s.ConsumeProfiles(t.Context(), again))
	assert.Equal(t, want, lengths())
	assert.Equal(t, profiletest.Render(sink.AllProfiles()[0]), profiletest.Render(last(sink)))
}

// Names that are used again have nothing of the message before.
func TestReusedNames(t *testing.T) {
	n := pool.Get().(*names)
	n.reset()
	for _, name := range []string{"first", "the second one", "\xff"} {
		d := pprofile.NewProfiles().Dictionary()
		d.StringTable().Append("")
		d.FunctionTable().AppendEmpty()
		number := n.add(knownFunction{1, 1, 1}, index.Names{Name: []byte(name)})
		require.Equal(t, []int32{1}, n.write(d))
		require.Zero(t, number)
		assert.Equal(t, []string{"", strings.ToValidUTF8(name, "\uFFFD")}, d.StringTable().AsRaw())
		n.reset()
		require.Empty(t, n.known)
	}
}
