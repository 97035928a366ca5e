// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package destinations

import (
	"bytes"
	"compress/gzip"
	"context"
	"flag"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pprofile"
	"go.opentelemetry.io/collector/pdata/pprofile/pprofileotlp"

	"github.com/otelpprof/otelpprof/internal/testkit/otlpsink"
)

// backends are servers in place of Pyroscope and Parca.
type backends struct {
	http *httptest.Server
	otlp *otlpsink.Sink

	push, ingest, writeRaw *route

	mu sync.Mutex
	// messages are what the server of OTLP over gRPC took, encoded what came over HTTP.
	messages []pprofile.Profiles
	encoded  [][]byte
}

// route is one way into a backend, and the series that came by it.
type route struct {
	name string
	// read reads a request, or tells what the backend refuses it for.
	read func(r *http.Request, body []byte) ([]series, error)

	mu     sync.Mutex
	took   []series
	faults []error
}

// series is one profile of a series.
type series struct {
	// request is the line of the request and the type of its content.
	request string
	// name is what the backend calls the profile.
	name   string
	labels map[string]string
	// totals are the sums of all sample types, content the rest that is known of the profile.
	totals, content string
}

func startBackends(t *testing.T) *backends {
	t.Helper()
	b := &backends{
		push:     &route{name: "pyroscope_push", read: readPush},
		ingest:   &route{name: "pyroscope_ingest", read: readIngest},
		writeRaw: &route{name: "parca", read: readWriteRaw},
	}
	mux := http.NewServeMux()
	mux.Handle("POST /push/push.v1.PusherService/Push", b.push)
	mux.Handle("POST /ingest/ingest", b.ingest)
	mux.Handle("POST /parca/api/profiles/writeraw", b.writeRaw)
	mux.HandleFunc("POST /otlp", b.takeEncoded)
	b.http = httptest.NewServer(mux)
	t.Cleanup(b.http.Close)
	var err error
	b.otlp, err = otlpsink.Start(t.Context(), "127.0.0.1:0", func(_ context.Context, pd pprofile.Profiles) error {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.messages = append(b.messages, pd)
		return nil
	})
	require.NoError(t, err)
	t.Cleanup(b.otlp.Stop)
	return b
}

// ServeHTTP answers as the backend does: 200, or 422 for a request that it refuses.
func (route *route) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	var took []series
	if err == nil {
		took, err = route.read(r, body)
	}
	route.mu.Lock()
	defer route.mu.Unlock()
	if err != nil {
		route.faults = append(route.faults, err)
		w.WriteHeader(http.StatusUnprocessableEntity)
		return
	}
	route.took = append(route.took, took...)
}

// wait returns the series once there are n of them.
func (route *route) wait(t *testing.T, n int) []series {
	t.Helper()
	assert.Eventually(t, func() bool {
		route.mu.Lock()
		defer route.mu.Unlock()
		return len(route.took) >= n || len(route.faults) > 0
	}, within, pollEvery)
	time.Sleep(pollEvery) // for one too many
	route.mu.Lock()
	defer route.mu.Unlock()
	require.Empty(t, route.faults)
	return route.took
}

// takeEncoded keeps a message of OTLP over HTTP as it is on the wire.
func (b *backends) takeEncoded(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	b.mu.Lock()
	b.encoded = append(b.encoded, body)
	b.mu.Unlock()
	answer, _ := pprofileotlp.NewExportResponse().MarshalProto()
	w.Header().Set("Content-Type", "application/x-protobuf")
	_, _ = w.Write(answer)
}

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
