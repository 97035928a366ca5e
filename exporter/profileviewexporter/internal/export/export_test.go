// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package export

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var unlimited = Limits{Bytes: math.MaxInt64}

// example has an inlined frame, hostile names, and values of two types.
func example() *profile.Profile {
	var functions []*profile.Function
	for i, name := range []string{"main", "work;er", "leaf\n</script>", "inlined"} {
		functions = append(functions, &profile.Function{ID: uint64(i + 1), Name: name, Filename: "a \"b\".go"})
	}
	locations := []*profile.Location{
		{ID: 1, Line: []profile.Line{{Function: functions[0], Line: 3}}},
		{ID: 2, Line: []profile.Line{{Function: functions[3], Line: 9}, {Function: functions[1], Line: 5}}},
		{ID: 3, Line: []profile.Line{{Function: functions[2]}}},
	}
	return &profile.Profile{
		SampleType: []*profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}},
		Function:   functions, Location: locations,
		Sample: []*profile.Sample{
			{Location: []*profile.Location{locations[2], locations[1], locations[0]}, Value: []int64{2, 20}},
			{Location: []*profile.Location{locations[0]}, Value: []int64{1, 0}},
			{Value: []int64{4, 40}},
		},
	}
}

func TestCollapsed(t *testing.T) {
	got, err := Collapsed(example(), 0, unlimited)
	require.NoError(t, err)
	assert.Equal(t, "main;work:er;inlined;leaf </script> 2\nmain 1\n[no frames] 4\n", string(got))
	got, err = Collapsed(example(), 1, unlimited)
	require.NoError(t, err)
	assert.Equal(t, "main;work:er;inlined;leaf </script> 20\n[no frames] 40\n", string(got))
}

func TestSpeedscope(t *testing.T) {
	got, err := Speedscope(example(), "shop </script>", unlimited)
	require.NoError(t, err)
	assert.NotContains(t, string(got), "</script>")
	var file struct {
		Schema             string `json:"$schema"`
		Name               string
		ActiveProfileIndex int
		Shared             struct {
			Frames []struct {
				Name, File string
				Line       int
			}
		}
		Profiles []struct {
			Type, Name, Unit     string
			StartValue, EndValue int64
			Samples              [][]int
			Weights              []int64
		}
	}
	require.NoError(t, json.Unmarshal(got, &file))
	assert.Equal(t, speedscopeSchema, file.Schema)
	assert.Equal(t, "shop </script>", file.Name)
	assert.Equal(t, 1, file.ActiveProfileIndex)
	require.Len(t, file.Profiles, 2)
	names := func(stack []int) string {
		parts := make([]string, len(stack))
		for i, index := range stack {
			parts[i] = file.Shared.Frames[index].Name
		}
		return strings.Join(parts, "|")
	}
	first := file.Profiles[0]
	assert.Equal(t, "none", first.Unit)
	assert.Equal(t, []int64{2, 1, 4}, first.Weights)
	assert.EqualValues(t, 7, first.EndValue)
	assert.Equal(t, "main|work;er|inlined|leaf\n</script>", names(first.Samples[0]))
	assert.Equal(t, []string{"main", ""}, []string{names(first.Samples[1]), names(first.Samples[2])})
	assert.Equal(t, "nanoseconds", file.Profiles[1].Unit)
	assert.EqualValues(t, 60, file.Profiles[1].EndValue)
	assert.Zero(t, file.Shared.Frames[0].Line, "the start line is not known")
	assert.Equal(t, `a "b".go`, file.Shared.Frames[0].File)
}

// A function is one frame, even if samples have several of its lines.
func TestSpeedscopeFrames(t *testing.T) {
	p := example()
	p.Function[0].StartLine = 2
	for i := range 3 {
		l := &profile.Location{ID: uint64(10 + i), Line: []profile.Line{{Function: p.Function[0], Line: int64(20 + i)}}}
		p.Location = append(p.Location, l)
		p.Sample = append(p.Sample, &profile.Sample{Location: []*profile.Location{l}, Value: []int64{1, 1}})
	}
	p.Function = append(p.Function, &profile.Function{ID: 5, Name: "main", Filename: "other.go"})
	other := &profile.Location{ID: 20, Line: []profile.Line{{Function: p.Function[4], Line: 3}}}
	p.Location, p.Sample = append(p.Location, other), append(p.Sample, &profile.Sample{Location: []*profile.Location{other}, Value: []int64{1, 1}})
	got, err := Speedscope(p, "", unlimited)
	require.NoError(t, err)
	var file struct {
		Shared struct {
			Frames []struct {
				Name, File string
				Line       int
			}
		}
	}
	require.NoError(t, json.Unmarshal(got, &file))
	require.Len(t, file.Shared.Frames, 5)
	assert.Equal(t, "main", file.Shared.Frames[0].Name)
	assert.Equal(t, 2, file.Shared.Frames[0].Line, "where the function starts")
	assert.Equal(t, "other.go", file.Shared.Frames[4].File, "another function of this name")
}

// A text is within its limit, and its memory is reserved before it is allocated.
func TestLimits(t *testing.T) {
	for name, write := range map[string]func(Limits) ([]byte, error){
		"collapsed":  func(l Limits) ([]byte, error) { return Collapsed(example(), 0, l) },
		"speedscope": func(l Limits) ([]byte, error) { return Speedscope(example(), "s", l) },
	} {
		whole, err := write(unlimited)
		require.NoError(t, err)
		for limit := range len(whole) {
			_, err := write(Limits{Bytes: int64(limit)})
			require.ErrorIs(t, err, ErrTooLarge, "%s in %d bytes", name, limit)
		}
		reserved := int64(0)
		got, err := write(Limits{Bytes: 1 << 20, Reserve: func(bytes int64) error { reserved = max(reserved, bytes); return nil }})
		require.NoError(t, err)
		assert.GreaterOrEqual(t, reserved, int64(cap(got)), name)
		_, err = write(Limits{Bytes: 1 << 20, Reserve: func(int64) error { return errors.ErrUnsupported }})
		require.ErrorIs(t, err, errors.ErrUnsupported, name)
	}
}

// The widest boxes are drawn, and all text is escaped.
func TestFlamegraph(t *testing.T) {
	image := &SVG{Index: 0, Title: "a <b>", Amount: func(v int64) string { return strconv.FormatInt(v, 10) + " <n>" }, Boxes: 100}
	got, err := Flamegraph(example(), image, unlimited)
	require.NoError(t, err)
	assert.Equal(t, 5, strings.Count(string(got), "<g>"), "root, main, work, inlined and leaf")
	assert.NotContains(t, string(got), "</script>")
	assert.NotContains(t, string(got), "<n>")
	assert.Contains(t, string(got), "<title>main (3 &lt;n&gt;, 42.86 %)</title>")
	require.NoError(t, xml.Unmarshal(got, new(struct{})))
	image.Boxes, image.Inside = 2, true
	got, err = Flamegraph(example(), image, unlimited)
	require.NoError(t, err)
	assert.Equal(t, 2, strings.Count(string(got), "<g>"))
	_, err = Flamegraph(example(), image, Limits{Bytes: 300})
	require.ErrorIs(t, err, ErrTooLarge)
	_, err = Flamegraph(&profile.Profile{SampleType: example().SampleType}, image, unlimited)
	require.NoError(t, err, "of nothing")
}

// Of boxes with equal widths, as many are drawn as fit, each with its parents.
func TestFlamegraphOfEqualBoxes(t *testing.T) {
	p := &profile.Profile{SampleType: example().SampleType}
	for i := range 500 {
		leaf := &profile.Location{Line: []profile.Line{{Function: &profile.Function{Name: "leaf" + strconv.Itoa(i)}}}}
		parent := &profile.Location{Line: []profile.Line{{Function: &profile.Function{Name: "parent" + strconv.Itoa(i)}}}}
		p.Sample = append(p.Sample, &profile.Sample{Location: []*profile.Location{leaf, parent}, Value: []int64{1, 1}})
	}
	image := &SVG{Amount: func(v int64) string { return strconv.FormatInt(v, 10) }, Boxes: 400}
	got, err := Flamegraph(p, image, unlimited)
	require.NoError(t, err)
	assert.Equal(t, 400, strings.Count(string(got), "<g>"))
	assert.Contains(t, string(got), "601 narrower boxes are not drawn")
	for i := range 500 {
		if strings.Contains(string(got), fmt.Sprintf("<title>leaf%d (", i)) {
			assert.Contains(t, string(got), fmt.Sprintf("<title>parent%d (", i))
		}
	}
}

// Each side of a difference has its own samples. The difference has both.
func TestFlamegraphOfDifference(t *testing.T) {
	p := example()
	p.Sample[0].Label, p.Sample[0].Value = map[string][]string{"pprof::base": {"true"}}, []int64{-2, -20}
	for side, want := range map[Side][2]string{
		Now: {"<title>main (1, 20.00 %)", "leaf"}, Before: {"<title>main (2, 100.00 %)", "none"},
		Difference: {"<title>main (1 now, 2 before)", "none"},
	} {
		got, err := Flamegraph(p, &SVG{Index: 0, Amount: func(v int64) string { return strconv.FormatInt(v, 10) }, Boxes: 100, Side: side}, unlimited)
		require.NoError(t, err)
		assert.Contains(t, string(got), want[0])
		assert.NotContains(t, string(got), want[1])
	}
}
