// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profiletest

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/testkit/must"
	"github.com/otelpprof/otelpprof/internal/wire/inflate"
)

// T is a test, or one of rapid.
type T interface {
	require.TestingT
	Helper()
}

// Marshal returns a message in protobuf. It marshals a copy: pdata moves the strings of attributes to the dictionary of what it marshals.
func Marshal(t T, pd pprofile.Profiles) []byte {
	t.Helper()
	written := pprofile.NewProfiles()
	pd.CopyTo(written)
	message := must.Get((&pprofile.ProtoMarshaler{}).MarshalProfiles(written))(t)
	return message
}

// Unmarshal returns a message that is in protobuf.
func Unmarshal(t T, message []byte) pprofile.Profiles {
	t.Helper()
	pd := must.Get((&pprofile.ProtoUnmarshaler{}).UnmarshalProfiles(message))(t)
	return pd
}

// Gzip compresses bytes.
func Gzip(t T, plain []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, err := w.Write(plain)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return out.Bytes()
}

// Inflate returns the plain form of a payload that is compressed or not.
func Inflate(t T, payload []byte) []byte {
	t.Helper()
	plain, _, err := inflate.Into(nil, payload, 1<<30, nil)
	require.NoError(t, err)
	return plain
}

// Format returns a file in testdata/formats.
func Format(tb testing.TB, name string) []byte {
	tb.Helper()
	content := must.Get(os.ReadFile(Testdata(tb, "formats", name)))(tb)
	return content
}

// Render shows a message as text that a person can read, in the order of the message: for golden files. Stacks have the leaf
// first.
func Render(pd pprofile.Profiles) string {
	var text strings.Builder
	dict := pd.Dictionary()
	for _, resource := range pd.ResourceProfiles().All() {
		fmt.Fprintf(&text, "resource %v\n", resource.Resource().Attributes().AsRaw())
		for _, scope := range resource.ScopeProfiles().All() {
			fmt.Fprintf(&text, "scope %q %q\n", scope.Scope().Name(), scope.Scope().Version())
			for _, p := range scope.Profiles().All() {
				fmt.Fprintf(&text, "\nprofile %s, period %d %s, time %d, duration %d %s\n", describeValueType(dict, p.SampleType()), p.Period(),
					describeValueType(dict, p.PeriodType()), p.Time(), p.DurationNano(), describeAttributes(dict, p.AttributeIndices()))
				for _, sample := range p.Samples().All() {
					renderSample(&text, dict, sample)
				}
			}
		}
	}
	return text.String()
}

func renderSample(text *strings.Builder, dict pprofile.ProfilesDictionary, sample pprofile.Sample) {
	fmt.Fprintf(text, "  %v", sample.Values().AsRaw())
	if times := sample.TimestampsUnixNano(); times.Len() > 0 {
		fmt.Fprintf(text, " at %v", times.AsRaw())
	}
	if sample.AttributeIndices().Len() > 0 {
		text.WriteString(" " + describeAttributes(dict, sample.AttributeIndices()))
	}
	text.WriteString(describeLink(dict, sample.LinkIndex()) + "\n    ")
	describeStack(text, dict, sample.StackIndex())
	text.WriteString("\n")
}
