// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package destinations

import (
	"bytes"
	"compress/gzip"
	"flag"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the captures anew")

// requireCapture compares what a backend got with what stands in testdata: all that a person would look for in a request.
func requireCapture(t *testing.T, name string, all []series) {
	t.Helper()
	texts := make([]string, len(all))
	for i, s := range all {
		texts[i] = s.String()
	}
	slices.Sort(texts)
	text := strings.Join(texts, "\n")
	path := filepath.Join("testdata", name+".txt")
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), text)
}

// String has a line for the request, one for each label, and one for the profile.
func (s series) String() string {
	var text strings.Builder
	fmt.Fprintf(&text, "%s: %s\n", s.name, s.request)
	for _, label := range slices.Sorted(maps.Keys(s.labels)) {
		fmt.Fprintf(&text, "    %s=%q\n", label, s.labels[label])
	}
	fmt.Fprintf(&text, "    %s\n    %s\n", s.totals, s.content)
	return text.String()
}

// line is the line of a request, and the type of its content.
func line(r *http.Request) string {
	kind, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
	return r.Method + " " + r.URL.Path[strings.Index(r.URL.Path[1:], "/")+1:] + " " + kind
}

// read reads a gzipped pprof and notes what it holds.
func (s *series) read(payload []byte) (*profile.Profile, error) {
	zipped, err := gzip.NewReader(bytes.NewReader(payload))
	if err != nil {
		return nil, err
	}
	content, err := io.ReadAll(zipped)
	if err != nil {
		return nil, err
	}
	if len(content) > maxInflatedBytes {
		return nil, fmt.Errorf("%d bytes", len(content))
	}
	p, err := profile.ParseUncompressed(content)
	if err != nil {
		return nil, err
	}
	if err := p.CheckValid(); err != nil {
		return nil, err
	}
	types, sums := make([]string, len(p.SampleType)), make([]int64, len(p.SampleType))
	for i, t := range p.SampleType {
		types[i] = t.Type + "/" + t.Unit
	}
	labels := map[string]bool{}
	for _, sample := range p.Sample {
		for i, value := range sample.Value {
			sums[i] += value
		}
		for key := range sample.Label {
			labels[key] = true
		}
		for key := range sample.NumLabel {
			labels[key] = true
		}
	}
	s.totals = totalsOf(types, sums)
	s.content = fmt.Sprintf("%d samples, %d locations, %d functions, %d mappings; labels %q; time %d, duration %d, period %d",
		len(p.Sample), len(p.Location), len(p.Function), len(p.Mapping), slices.Sorted(maps.Keys(labels)), p.TimeNanos, p.DurationNanos, p.Period)
	if p.PeriodType != nil {
		s.content += " " + p.PeriodType.Type + "/" + p.PeriodType.Unit
	}
	return p, nil
}
