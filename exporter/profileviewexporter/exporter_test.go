// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profileviewexporter

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/client"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/consumer/consumererror"

	"github.com/otelpprof/otelpprof/exporter/internal/delivery"
	"github.com/otelpprof/otelpprof/exporter/internal/deliverytest"
	"github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/store"
	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
)

func TestServerProfile(t *testing.T) {
	s := newServing(t, nil)
	cpuPayload := deliverytest.OwnProfile(t, "cpu.pb.gz")
	s.post(t, cpuPayload, map[string]any{"service.name": "a/b c"})
	response, body := s.get(t, "/profiles/"+url.PathEscape("a/b c")+"/cpu")
	require.Equal(t, http.StatusOK, response.StatusCode)
	assert.Equal(t, "application/octet-stream", response.Header.Get("Content-Type"))
	assert.Empty(t, profiletest.DiffPprof(deliverytest.Parsed(t, cpuPayload), deliverytest.Parsed(t, body)))

	tag := response.Header.Get("ETag")
	require.NotEmpty(t, tag)
	response, body = s.get(t, "/profiles/a%2Fb%20c/cpu", "If-None-Match", `"x", W/`+tag)
	assert.Equal(t, http.StatusNotModified, response.StatusCode)
	assert.Empty(t, body)
	s.post(t, cpuPayload, map[string]any{"service.name": "a/b c"})
	response, _ = s.get(t, "/profiles/a%2Fb%20c/cpu", "If-None-Match", tag)
	assert.Equal(t, http.StatusNotModified, response.StatusCode, "an equal upload counts once")
	later := deliverytest.Parsed(t, cpuPayload)
	later.TimeNanos++
	s.post(t, written(t, later), map[string]any{"service.name": "a/b c"})
	response, body = s.get(t, "/profiles/a%2Fb%20c/cpu", "If-None-Match", tag)
	require.Equal(t, http.StatusOK, response.StatusCode)
	once, twice := totals(t, cpuPayload), totals(t, body)
	for i := range once {
		assert.Equal(t, 2*once[i], twice[i])
	}
}

// Values are summed. Of values that are a state at one time, the latest counts.
func TestServerMerges(t *testing.T) {
	s := newServing(t, nil)
	types := []string{"inuse_space", "alloc_space"}
	first := time.Now().Add(-5 * time.Minute).Truncate(time.Second).UTC()
	for i, pod := range []string{"p1", "p2", "p1"} {
		s.post(t, made(t, first.Add(time.Duration(i)*time.Minute), types, int64(10*(i+1)), 1), map[string]any{"service.name": "s", "pod": pod})
	}
	after := func(d time.Duration) string { return first.Add(d).Format(time.RFC3339Nano) }
	profileType := s.types(t, "s")[0]
	for query, want := range map[string][]int64{
		"":                               {50, 3}, // 20 of p2 and 30 of p1
		"?resource.pod=p1":               {30, 2},
		"?resource.pod=p2":               {20, 1},
		"?window=30s":                    {30, 1},
		"?window=90s":                    {50, 2},
		"?seconds=30":                    {30, 1},
		"?from=all":                      {50, 3},
		"?resource.pod=":                 {50, 3},
		"?until=" + after(time.Minute):   {10, 1},
		"?from=" + after(30*time.Second): {50, 2},
		fmt.Sprintf("?from=%d&until=%d", first.Unix()+30, first.Unix()+300): {50, 2},
		"?from=now-100000h": {50, 3},
		"?from=-4m30s":      {50, 2},
		"?from=" + after(time.Second/2) + "&until=" + after(90*time.Second) + "&resource.pod=p1": {10, 1},
	} {
		response, body := s.get(t, "/profiles/s/"+profileType+query)
		if assert.Equal(t, http.StatusOK, response.StatusCode, query+": "+string(body)) {
			assert.Equal(t, want, totals(t, body), query)
		}
	}
	for query, want := range map[string]int{
		"?resource.pod=p3": 404, "?until=2026-01-01T00:00:00Z": 404, "?from=yesterday": 400, "?until=-x": 400,
		"?windw=15m": 400, "?resourc.pod=p1": 400, "?depth=5": 400, "?resource.=x": 400,
		"?window=0s": 400, "?window=-5m": 400, "?window=x": 400, "?seconds=0": 400, "?seconds=-1": 400,
	} {
		response, body := s.get(t, "/profiles/s/"+profileType+query)
		assert.Equal(t, want, response.StatusCode, query)
		assert.Equal(t, "1", response.Header.Get("X-Go-Pprof"), "so that go tool pprof shows the text")
		assert.Contains(t, response.Header.Get("Content-Type"), "text/plain")
		assert.Less(t, len(body), 300)
	}
	response, _ := s.get(t, "/profiles/none/cpu")
	assert.Equal(t, http.StatusNotFound, response.StatusCode)
}

func (s *serving) types(t *testing.T, service string, header ...string) []string {
	t.Helper()
	response, body := s.get(t, "/profiles", header...)
	require.Equal(t, http.StatusOK, response.StatusCode)
	var all []store.Series
	require.NoError(t, json.Unmarshal(body, &all))
	types := []string{}
	for _, one := range all {
		if one.Service == service {
			types = append(types, one.Type)
		}
	}
	return types
}

// Profiles with different sample types return an error that says so.
func TestServerRefusesToMerge(t *testing.T) {
	s := newServing(t, nil)
	for _, unit := range []string{"x", "y"} {
		p := deliverytest.Parsed(t, made(t, day, []string{"a"}, 1))
		p.SampleType[0] = &profile.ValueType{Type: unit, Unit: "count"}
		pd := deliverytest.Decode(t, written(t, p), map[string]any{"service.name": "s"})
		name := pd.Dictionary().StringTable().Len()
		pd.Dictionary().StringTable().Append("profile.name")
		attribute := pd.Dictionary().AttributeTable().AppendEmpty()
		attribute.SetKeyStrindex(int32(name))
		attribute.Value().SetStr("mine")
		index := int32(pd.Dictionary().AttributeTable().Len() - 1)
		pd.ResourceProfiles().At(0).ScopeProfiles().At(0).Profiles().At(0).AttributeIndices().Append(index)
		require.NoError(t, s.ConsumeProfiles(t.Context(), pd))
	}
	require.Equal(t, []string{"mine"}, s.types(t, "s"))
	response, body := s.get(t, "/profiles/s/mine")
	assert.Equal(t, http.StatusUnprocessableEntity, response.StatusCode)
	assert.Contains(t, string(body), "measure different things")
}

func TestServerTenants(t *testing.T) {
	s := newServing(t, func(cfg *Config) { cfg.Tenant.MetadataKey, cfg.Tenant.Default = "x-scope-orgid", "shared" })
	for _, tenant := range []string{"a", "b", ""} {
		ctx := client.NewContext(t.Context(), client.Info{Metadata: client.NewMetadata(map[string][]string{"X-Scope-OrgID": {tenant}})})
		require.NoError(t, s.ConsumeProfiles(ctx, deliverytest.CPU(t, "of-"+tenant)))
	}
	assert.Equal(t, []string{"cpu"}, s.types(t, "of-a", "X-Scope-OrgID", "a"))
	assert.Empty(t, s.types(t, "of-a", "X-Scope-OrgID", "b"))
	assert.Empty(t, s.types(t, "of-a"))
	assert.Equal(t, []string{"cpu"}, s.types(t, "of-"), "no header is the default tenant")
	response, _ := s.get(t, "/profiles/of-a/cpu", "X-Scope-OrgID", "b")
	assert.Equal(t, http.StatusNotFound, response.StatusCode)
	_, body := s.get(t, "/functions?"+selecting(cpuID, `{service_name="of-a"}`), "X-Scope-OrgID", "b")
	assert.JSONEq(t, `{"unit":"","total":0,"profiles":0,"functions":[]}`, string(body), "nor by a query")
}

func goTool(t *testing.T, directory string, arguments ...string) string {
	t.Helper()
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("no go command")
	}
	command := exec.CommandContext(t.Context(), "go", arguments...)
	command.Dir = directory
	command.Env = append(os.Environ(), "PPROF_TMPDIR="+t.TempDir(), "GOFLAGS=", "GOWORK=off", "GO111MODULE=on")
	output, err := command.CombinedOutput()
	require.NoError(t, err, "%s", output)
	return string(output)
}

// The real go tool pprof reads the endpoint.
func TestServerGoTool(t *testing.T) {
	s := newServing(t, nil)
	first := time.Now().Add(-8 * time.Minute).UTC()
	s.post(t, made(t, first, []string{"samples"}, 5), map[string]any{"service.name": "s"})
	s.post(t, made(t, first.Add(6*time.Minute), []string{"samples"}, 7), map[string]any{"service.name": "s"})
	profileType := s.types(t, "s")[0]
	at := s.url + "/profiles/s/" + profileType
	top := goTool(t, t.TempDir(), "tool", "pprof", "-top", at)
	assert.Regexp(t, `12\s+100%.*main\.work`, top)
	top = goTool(t, t.TempDir(), "tool", "pprof", "-top", "-seconds", "60", at)
	assert.Regexp(t, `7\s+100%.*main\.work`, top)
	between := first.Add(3 * time.Minute).Format(time.RFC3339)
	top = goTool(t, t.TempDir(), "tool", "pprof", "-top", "-diff_base", at+"?until="+between, at+"?from="+between)
	assert.Regexp(t, `(?m)^\s*2\s.*main\.work`, top)
	directory := t.TempDir()
	goTool(t, directory, "tool", "pprof", "-proto", "-output", "out.pb.gz", at)
	data, err := os.ReadFile(filepath.Join(directory, "out.pb.gz"))
	require.NoError(t, err)
	assert.Equal(t, []int64{12}, totals(t, data))
}

func TestServerRefusesTheAddress(t *testing.T) {
	s := newServing(t, nil)
	e := create(t, func(cfg *Config) { cfg.HTTP.NetAddr.Endpoint = strings.TrimPrefix(s.url, "http://") })
	require.ErrorContains(t, e.Start(t.Context(), componenttest.NewNopHost()), "cannot listen on")
	require.NoError(t, e.Shutdown(t.Context()))
}

func TestServerLimits(t *testing.T) {
	s := newServing(t, func(cfg *Config) { cfg.MaxMemory, cfg.MaxProfilesPerSeries = 100_000, 3 })
	for i := range 5 {
		s.post(t, made(t, day, []string{"a"}, int64(i+1)), map[string]any{"service.name": "s"})
	}
	assert.EqualValues(t, 2, counted(t, s.telemetry, "profiles_evicted", "reason", "series"))
	assert.EqualValues(t, 3, gauge(t, s.telemetry, "served_profiles"))
	assert.Positive(t, gauge(t, s.telemetry, "served_bytes"))
	for i := range 40 {
		s.post(t, made(t, day, []string{"a"}, 1), map[string]any{"service.name": strconv.Itoa(i)})
	}
	assert.Positive(t, counted(t, s.telemetry, "profiles_evicted", "reason", "memory"))
	assert.LessOrEqual(t, gauge(t, s.telemetry, "served_bytes"), int64(100_000))
	assert.Empty(t, s.types(t, "s"), "the oldest go first")
	assert.Equal(t, []string{"a"}, s.types(t, "39"))

	err := s.ConsumeProfiles(t.Context(), deliverytest.Decode(t, deliverytest.OwnProfile(t, "heap.pb.gz"), map[string]any{"service.name": "large"}))
	require.ErrorContains(t, err, "max_memory is 100000")
	assert.True(t, consumererror.IsPermanent(err))
	assert.EqualValues(t, 4, counted(t, s.telemetry, "profiles_refused", "reason", delivery.ReasonTooLarge))
	assert.LessOrEqual(t, gauge(t, s.telemetry, "served_bytes"), int64(100_000))
}

// The number of series in one answer is limited. The answer has the URL of the next part.
func TestServerListGoesOn(t *testing.T) {
	d := newHolding(t, 256<<20)
	get := func(path string) *httptest.ResponseRecorder { return d.get(t, path) }
	for i := range seriesPerAnswer + 1 {
		d.hold(t, made(t, day, []string{"a&b"}, 1), "a&b", map[string]string{"service.name": fmt.Sprintf("s%05d", i)})
	}
	seen := 0
	for path := "/profiles"; path != ""; {
		w := get(path)
		var all []store.Series
		require.NoError(t, json.Unmarshal(w.Body.Bytes(), &all))
		seen += len(all)
		path = ""
		if link, found := strings.CutSuffix(w.Header().Get("Link"), `>; rel="next"`); found {
			path = "/profiles" + strings.TrimPrefix(link, "<")
		}
	}
	assert.Equal(t, seriesPerAnswer+1, seen)
	page := get("/plain?from=all").Body.String()
	assert.Contains(t, page, `href="?after_service=s01999&amp;after_type=a%26b`)
	assert.NotContains(t, page, "s02000")
}

// Profiles of one kind have one name, whatever their clients call it. The names of the clients select their own.
func TestServerKinds(t *testing.T) {
	s := newServing(t, nil)
	s.post(t, made(t, day, []string{"alloc_space"}, 3), map[string]any{"service.name": "s"})
	s.post(t, made(t, day.Add(time.Minute), []string{"alloc_space", "alloc_objects"}, 20, 10), map[string]any{"service.name": "s"})
	require.Equal(t, []string{"heap"}, s.types(t, "s"))
	for path, want := range map[string]int64{"heap": 23, "alloc_space": 3, "alloc_objects": 20} {
		response, body := s.get(t, "/profiles/s/"+path)
		require.Equal(t, http.StatusOK, response.StatusCode, path)
		assert.Equal(t, want, totals(t, body)[0], path)
	}
	response, _ := s.get(t, "/profiles/s/memory")
	assert.Equal(t, http.StatusNotFound, response.StatusCode)
}
