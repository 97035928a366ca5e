// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofexporter

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"regexp"
	"sync"
	"testing"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelpprof/otelpprof/exporter/internal/deliverytest"
	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
)

// writtenSeries is a series that a parca accepted.
type writtenSeries struct {
	labels  map[string]string
	profile *profile.Profile
}

// parca is a server as strict as Parca's WriteRaw: it rejects the whole request for one fault, with the status that Parca's gateway
// returns.
type parca struct {
	*httptest.Server
	mu       sync.Mutex
	requests int
	took     []writtenSeries
}

func newParca(t *testing.T) *parca {
	t.Helper()
	p := &parca{}
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.requests++
		took, fault := readWriteRaw(r)
		if fault != "" {
			w.WriteHeader(http.StatusBadRequest)
			_ = json.NewEncoder(w).Encode(map[string]any{"code": 3, "message": fault, "details": []any{}})
			return
		}
		p.took = append(p.took, took...)
		_, _ = w.Write([]byte("{}"))
	}))
	t.Cleanup(p.Close)
	return p
}

var parcaName = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_]*$`)

// readWriteRaw reads a request. It returns an error if the request is invalid.
func readWriteRaw(r *http.Request) (took []writtenSeries, fault string) {
	var request struct {
		Series []struct {
			Labels struct {
				Labels []struct{ Name, Value string }
			}
			Samples []struct{ RawProfile []byte }
		}
	}
	decoder := json.NewDecoder(r.Body)
	decoder.DisallowUnknownFields()
	if r.Method != http.MethodPost || r.URL.Path != "/api/profiles/writeraw" || decoder.Decode(&request) != nil {
		return nil, "no WriteRawRequest"
	}
	for _, s := range request.Series {
		one := writtenSeries{labels: map[string]string{}}
		for _, l := range s.Labels.Labels {
			if _, found := one.labels[l.Name]; found || !parcaName.MatchString(l.Name) {
				return nil, "label " + l.Name
			}
			one.labels[l.Name] = l.Value
		}
		if one.labels["__name__"] == "" || len(s.Samples) != 1 {
			return nil, "no name"
		}
		var err error
		if one.profile, err = profile.ParseData(s.Samples[0].RawProfile); err != nil {
			return nil, err.Error()
		}
		if fault := unsequential(one.profile); fault != "" {
			return nil, fault
		}
		took = append(took, one)
	}
	return took, ""
}

// unsequential returns the first table of a profile whose ids are not 1, 2, 3 and so on, or an empty string.
func unsequential(p *profile.Profile) string {
	for i, m := range p.Mapping {
		if m.ID != uint64(i+1) {
			return "mapping"
		}
	}
	for i, l := range p.Location {
		if l.ID != uint64(i+1) {
			return "location"
		}
	}
	for i, f := range p.Function {
		if f.ID != uint64(i+1) {
			return "function"
		}
	}
	return ""
}

func TestHTTPParca(t *testing.T) {
	backend := newParca(t)
	p := newPushing(t, backend.URL, func(cfg *Config) {
		cfg.HTTP.Get().Format, cfg.HTTP.Get().MaxSeriesPerRequest = FormatParca, 4
	})
	attributes := map[string]any{
		"service.name": "check\"out", "host.name": "h1", "host_name": "h2", "k8s.pod/name": "a", "9": "digit", "é": "letter", "__x": "reserved",
	}
	files := []string{"cpu", "heap", "goroutine", "mutex", "block", "labelled"}
	for _, name := range files {
		require.NoError(t, p.ConsumeProfiles(t.Context(), deliverytest.Decode(t, deliverytest.OwnProfile(t, name+".pb.gz"), attributes)))
	}
	require.Len(t, backend.took, len(files))
	for i, want := range []string{"process_cpu", "memory", "goroutine", "mutex", "mutex", "process_cpu"} {
		one := backend.took[i]
		assert.Equal(t, map[string]string{
			"__name__": want, "service_name": "check\"out", "host_name": "h2", "host_name_2": "h1", "k8s_pod_name": "a", "_9": "digit", "_": "letter",
		}, one.labels)
		assert.Empty(t, profiletest.DiffPprof(deliverytest.Parsed(t, deliverytest.OwnProfile(t, files[i]+".pb.gz")), one.profile), files[i])
	}
	before := backend.requests
	require.NoError(t, p.ConsumeProfiles(t.Context(), several(t, 3)))
	assert.Equal(t, 2, backend.requests-before, "four series and two")
	assert.Len(t, backend.took, len(files)+6)
}

// The receiver pprof accepts the requests that the exporter sends to Parca.
func TestHTTPParcaToOwnReceiver(t *testing.T) {
	receiver, received := ownReceiver(t)
	p := newPushing(t, receiver, func(cfg *Config) { cfg.HTTP.Get().Format = FormatParca })
	sent := several(t, 2)
	require.NoError(t, p.ConsumeProfiles(t.Context(), sent))
	services := map[string]int{}
	for _, pd := range received.AllProfiles() {
		for _, resource := range pd.ResourceProfiles().All() {
			service, _ := resource.Resource().Attributes().Get("service.name")
			for _, scope := range resource.ScopeProfiles().All() {
				services[service.Str()] += scope.Profiles().Len()
			}
		}
	}
	assert.Equal(t, map[string]int{"s0": sent.ProfileCount() / 2, "s1": sent.ProfileCount() / 2}, services)
}
