// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profileviewexporter

import (
	"bytes"
	"cmp"
	"context"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/exporter/exportertest"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/metadata"
	"github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/store"
	"github.com/otelpprof/otelpprof/internal/wire/inflate"
	"github.com/otelpprof/otelpprof/internal/wire/pprofwire"
)

// holding is an exporter without a listener, and without its exporterhelper.
type holding struct{ *viewExporter }

func newHolding(tb testing.TB, memory int64) holding {
	tb.Helper()
	cfg := createDefaultConfig().(*Config)
	cfg.MaxMemory = memory
	telemetry, err := newTelemetry(exportertest.NewNopSettings(metadata.Type))
	require.NoError(tb, err)
	d := newViewExporter(exportertest.NewNopSettings(metadata.Type), cfg, telemetry)
	d.budget = unlimited()
	tb.Cleanup(func() { assert.NoError(tb, d.shutdown(context.WithoutCancel(tb.Context()))) })
	return holding{d}
}

func (h holding) ConsumeProfiles(ctx context.Context, pd pprofile.Profiles) error {
	ctx, reservation, err := h.budget.Message(ctx, pd)
	if err != nil {
		return err
	}
	defer reservation.Release()
	return h.consume(ctx, pd)
}

// hold adds a pprof, in gzip or not.
func (h holding) hold(tb testing.TB, pprof []byte, profileType string, attributes map[string]string) {
	tb.Helper()
	raw := pprof
	if bytes.HasPrefix(pprof, []byte{0x1f, 0x8b}) {
		var err error
		raw, _, err = inflate.Into(nil, pprof, 1<<30, nil)
		require.NoError(tb, err)
	}
	var parsed pprofwire.Profile
	require.NoError(tb, parsed.Read(raw, pprofwire.NoLimits()))
	resource := pcommon.NewMap()
	for key, value := range attributes {
		resource.PutStr(key, value)
	}
	u := store.Upload{Resource: store.NewResource("", resource), Type: profileType, Pprof: raw, Duration: time.Duration(parsed.DurationNanos)}
	if parsed.TimeNanos > 0 {
		u.Time = time.Unix(0, parsed.TimeNanos)
	}
	p, err := h.store.Add(u, nil)
	require.NoError(tb, err)
	require.NotNil(tb, p)
}

// holdHostile adds a profile of the service s, the type samples and a pod.
func (h holding) holdHostile(tb testing.TB, p *profile.Profile, pod string) {
	tb.Helper()
	var raw bytes.Buffer
	require.NoError(tb, p.WriteUncompressed(&raw))
	h.hold(tb, raw.Bytes(), "samples", map[string]string{"service.name": "s", "pod": pod})
}

// hostileID is the ID of the type of these profiles.
const hostileID = "process_cpu:samples:count:cpu:nanoseconds"

func (h holding) get(tb testing.TB, path string) *httptest.ResponseRecorder {
	tb.Helper()
	return h.serve(httptest.NewRequestWithContext(tb.Context(), http.MethodGet, path, http.NoBody))
}

// query answers a request of Pyroscope's API.
func (h holding) query(tb testing.TB, method, request string) *httptest.ResponseRecorder {
	tb.Helper()
	r := httptest.NewRequestWithContext(tb.Context(), http.MethodPost, apiPrefix+method, strings.NewReader(request))
	r.Header.Set("Content-Type", "application/json")
	return h.serve(r)
}

// ask answers a request of a client that accepts gzip, as browsers do.
func (h holding) ask(tb testing.TB, one request) *httptest.ResponseRecorder {
	tb.Helper()
	r := httptest.NewRequestWithContext(tb.Context(), http.MethodGet, cmp.Or(one.path, "/"), http.NoBody)
	if one.method != "" {
		r = httptest.NewRequestWithContext(tb.Context(), http.MethodPost, apiPrefix+one.method, strings.NewReader(one.body))
		r.Header.Set("Content-Type", "application/json")
	}
	r.Header.Set("Accept-Encoding", "gzip")
	return h.serve(r)
}

func (h holding) serve(r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.handler().ServeHTTP(w, r)
	return w
}

// hostile returns a profile of samples with random stacks. All values are 1.
func hostile(samples, depth, functions, nameBytes, labels, lines int) *profile.Profile {
	random := rand.New(rand.NewPCG(1, 2))
	p := &profile.Profile{
		SampleType: []*profile.ValueType{{Type: "samples", Unit: "count"}}, PeriodType: &profile.ValueType{Type: "cpu", Unit: "nanoseconds"},
	}
	name := strings.Repeat("n", nameBytes)
	for i := range functions {
		f := &profile.Function{ID: uint64(i + 1), Name: name + strconv.Itoa(i), Filename: strconv.Itoa(i), StartLine: 1}
		l := &profile.Location{ID: f.ID, Line: make([]profile.Line, lines)}
		for j := range l.Line {
			l.Line[j] = profile.Line{Function: f, Line: int64(j)}
		}
		p.Function, p.Location = append(p.Function, f), append(p.Location, l)
	}
	for i := range samples {
		s := &profile.Sample{Value: []int64{1}, Location: make([]*profile.Location, depth)}
		for j := range s.Location {
			s.Location[j] = p.Location[random.IntN(functions)]
		}
		if labels > 0 {
			s.Label = map[string][]string{}
			for j := range labels {
				s.Label["k"+strconv.Itoa(j)] = []string{strconv.Itoa(i)}
			}
		}
		p.Sample = append(p.Sample, s)
	}
	return p
}
