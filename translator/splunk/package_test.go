// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package splunk

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pprofile"
	"go.uber.org/goleak"

	"github.com/otelpprof/otelpprof/internal/dictionary/walk"
	"github.com/otelpprof/otelpprof/internal/testkit/must"
	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// received is the arrival time of the requests in tests.
const received = pcommon.Timestamp(1_800_000_000_000_000_000)

// capture is a request of testdata/splunk.
type capture struct {
	name string
	body []byte
}

// captures returns the requests in protobuf.
func captures(tb testing.TB) []capture {
	tb.Helper()
	root := profiletest.Testdata(tb, "splunk")
	paths := must.Get(filepath.Glob(filepath.Join(root, "*", "*.pb")))(tb)
	require.NotEmpty(tb, paths)
	var found []capture
	for _, path := range paths {
		body := must.Get(os.ReadFile(path))(tb)
		name := must.Get(filepath.Rel(root, path))(tb)
		found = append(found, capture{filepath.ToSlash(name), body})
	}
	return found
}

func captureOf(tb testing.TB, name string) plog.Logs {
	tb.Helper()
	body := must.Get(os.ReadFile(filepath.Join(profiletest.Testdata(tb, "splunk"), filepath.FromSlash(name))))(tb)
	return capture{name, body}.logs(tb)
}

func (c capture) logs(tb testing.TB) plog.Logs {
	tb.Helper()
	logs := must.Get((&plog.ProtoUnmarshaler{}).UnmarshalLogs(c.body))(tb)
	return logs
}

// mustDecode decodes logs without refused records, and checks the message.
func mustDecode(tb testing.TB, logs plog.Logs, opts Options) (pprofile.Profiles, Result) {
	tb.Helper()
	pd, result := decodeAndCheck(tb, logs, opts)
	require.Empty(tb, result.Refused)
	return pd, result
}

// decodeAndCheck decodes logs and checks the message against OTLP's rules.
func decodeAndCheck(tb testing.TB, logs plog.Logs, opts Options) (pprofile.Profiles, Result) {
	tb.Helper()
	pd, result := NewDecoder(opts).Decode(logs, received, nil)
	if pd.ResourceProfiles().Len() > 0 {
		require.NoError(tb, checkOptions.Check(pd))
	}
	return pd, result
}

var checkOptions = profiletest.CheckOptions{}

// profilesOf returns all profiles of a message.
func profilesOf(pd pprofile.Profiles) []pprofile.Profile { return slices.Collect(walk.Profiles(pd)) }

// stringAt returns string i of the dictionary.
func stringAt(pd pprofile.Profiles, i int32) string { return pd.Dictionary().StringTable().At(int(i)) }

// sampleTypeOf returns the sample type of a profile as name/unit.
func sampleTypeOf(pd pprofile.Profiles, p pprofile.Profile) string {
	return stringAt(pd, p.SampleType().TypeStrindex()) + "/" + stringAt(pd, p.SampleType().UnitStrindex())
}

// attributesOf returns attributes by their keys.
func attributesOf(pd pprofile.Profiles, indices pcommon.Int32Slice) map[string]any {
	attributes := map[string]any{}
	for _, i := range indices.All() {
		a := pd.Dictionary().AttributeTable().At(int(i))
		attributes[stringAt(pd, a.KeyStrindex())] = a.Value().AsRaw()
	}
	return attributes
}

// framesOf returns the frames of a sample as text, the leaf first: function(file:line:column).
func framesOf(pd pprofile.Profiles, s pprofile.Sample) []string {
	dict := pd.Dictionary()
	var frames []string
	for _, l := range dict.StackTable().At(int(s.StackIndex())).LocationIndices().All() {
		for _, line := range dict.LocationTable().At(int(l)).Lines().All() {
			f := dict.FunctionTable().At(int(line.FunctionIndex()))
			frames = append(frames, frameText(stringAt(pd, f.NameStrindex()), stringAt(pd, f.FilenameStrindex()), line.Line(), line.Column()))
		}
	}
	return frames
}
