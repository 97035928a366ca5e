// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/client"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/config/configauth"
	"go.opentelemetry.io/collector/config/confighttp"
	"go.opentelemetry.io/collector/config/configoptional"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/pdata/pprofile"
	"go.opentelemetry.io/collector/receiver/receivertest"

	"github.com/otelpprof/otelpprof/internal/testkit/must"
	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
	"github.com/otelpprof/otelpprof/receiver/pprofreceiver/internal/metadata"
)

// allPaths are those of the default configuration.
var allPaths = []string{
	"/api/profiles/writeraw", "/api/v2/profile", "/ingest", "/parca.profilestore.v1alpha1.ProfileStoreService/WriteRaw",
	"/profiling/v1/input", "/push.v1.PusherService/Push", "/pyroscope/ingest", "/v1/pprof",
}

// TestUnknownPath: the answer lists the paths that exist.
func TestUnknownPath(t *testing.T) {
	r := run(t, nil)
	for _, path := range []string{"/", "/ingest/", "/v1development/profiles", "/debug/pprof/heap", "/api"} {
		got := r.post(t, path, []byte("x"))
		assert.Equal(t, http.StatusNotFound, got.status)
		for _, known := range allPaths {
			assert.Contains(t, got.text, known)
		}
	}
	assert.Equal(t, map[string]int64{"unknown": 5}, r.counts("otelcol_receiver_pprof_refusals", "api"))
}

// TestAPIsOff turns each API off. Its paths no longer exist, the others do.
func TestAPIsOff(t *testing.T) {
	for name, c := range map[string]struct {
		off   func(*APIsConfig)
		paths []string
	}{
		"pprof":            {off: func(a *APIsConfig) { a.Pprof = false }, paths: []string{"/v1/pprof"}},
		"pyroscope_ingest": {off: func(a *APIsConfig) { a.PyroscopeIngest = false }, paths: []string{"/ingest", "/pyroscope/ingest"}},
		"pyroscope_push":   {off: func(a *APIsConfig) { a.PyroscopePush = false }, paths: []string{pushPath}},
		"datadog":          {off: func(a *APIsConfig) { a.Datadog = false }, paths: []string{"/profiling/v1/input", "/api/v2/profile"}},
		"parca":            {off: func(a *APIsConfig) { a.Parca = false }, paths: []string{parcaPath, "/api/profiles/writeraw"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := run(t, func(_ *Config, s *ServerConfig) { c.off(&s.APIs) })
			gone := 0
			for _, path := range allPaths {
				if got := r.post(t, path, []byte("x")); got.status == http.StatusNotFound {
					assert.Contains(t, c.paths, path)
					assert.NotContains(t, got.text, ", "+path)
					gone++
				}
			}
			assert.Len(t, c.paths, gone)
		})
	}
}

// TestMethods: all methods other than POST are refused, on every path.
func TestMethods(t *testing.T) {
	r := run(t, nil)
	for _, path := range allPaths {
		for _, method := range []string{http.MethodGet, http.MethodPut, http.MethodDelete} {
			got := r.do(t, method, path, http.NoBody)
			assert.Equal(t, http.StatusMethodNotAllowed, got.status, path)
			assert.Equal(t, "POST", got.header.Get("Allow"))
			assert.Contains(t, got.text, "method "+method+" not allowed, supported: [POST]")
		}
	}
	r.assertRefusals(t, map[string]int64{"wrong_method": int64(3 * len(allPaths))})
}

// TestQueryOfEveryAPI: the query describes the profiles, unless the API does.
func TestQueryOfEveryAPI(t *testing.T) {
	body := plain(t, cpuProfile(1))
	proto := []string{"Content-Type", "application/proto"}
	for name, c := range map[string]struct {
		path    string
		body    []byte
		headers []string
		service string
		profile string
	}{
		"raw":     {path: "/v1/pprof?", body: body, service: "of-query", profile: "of-query"},
		"ingest":  {path: "/ingest?name=own%7B__name__%3Dwall%7D&", body: body, service: "own", profile: "wall"},
		"push":    {path: pushPath + "?", body: pushRequest(false, map[string]string{"pod": "a"}, body), headers: proto, service: "of-query", profile: "of-query"},
		"parca":   {path: parcaPath + "?", body: pushRequest(true, map[string]string{"job": "own", "__name__": "memory"}, body), headers: proto, service: "own", profile: "memory"},
		"datadog": {path: "/profiling/v1/input?", body: formOf("b", "auto.pprof", string(body), "event", `{"tags_profiler":"service:own"}`), headers: asForm, service: "own", profile: "of-query"},
	} {
		t.Run(name, func(t *testing.T) {
			r := run(t, nil)
			got := r.post(t, c.path+"service.name=of-query&resource.zone=z&profile.name=of-query", c.body, c.headers...)
			require.Equal(t, 2, got.status/100, got.text)
			resource := r.sink.resource(t)
			assert.Equal(t, c.service, resource["service.name"])
			assert.Equal(t, "z", resource["zone"])
			pd := r.sink.one(t)
			assert.Equal(t, c.profile, profileNames(pd.Dictionary(), pd.ResourceProfiles().At(0).ScopeProfiles().At(0))[0])

			got = r.post(t, c.path+"resource.=x", c.body, c.headers...)
			assert.Equal(t, http.StatusBadRequest, got.status, got.text)
			r.assertRefusals(t, map[string]int64{"bad_query": 1})
		})
	}
}

var guardID = component.MustNewID("guard")

// guard is an authenticator with a password. It names the client.
type guard struct {
	component.StartFunc
	component.ShutdownFunc
}

type knownClient struct{ client.AuthData }

func (guard) Authenticate(ctx context.Context, sources map[string][]string) (context.Context, error) {
	if word := sources["X-Word"]; len(word) != 1 || word[0] != "sesame" {
		return ctx, errors.New("wrong password")
	}
	info := client.FromContext(ctx)
	info.Auth = knownClient{}
	return client.NewContext(ctx, info), nil
}

type guardedHost struct{ component.Host }

func (guardedHost) GetExtensions() map[component.ID]component.Component {
	return map[component.ID]component.Component{guardID: guard{}}
}

func TestAuthentication(t *testing.T) {
	r := runOn(t, guardedHost{componenttest.NewNopHost()}, func(_ *Config, s *ServerConfig) {
		s.HTTP.Auth = configoptional.Some(confighttp.AuthConfig{Config: configauth.Config{AuthenticatorID: guardID}, RequestParameters: []string{"token"}})
	})
	body := plain(t, cpuProfile(1))
	got := r.post(t, "/v1/pprof", body)
	assert.Equal(t, http.StatusUnauthorized, got.status)
	assert.Equal(t, "wrong password\n", got.text)
	assert.Empty(t, got.header.Get("Retry-After"))
	r.assertRefusals(t, map[string]int64{"not_allowed": 1})

	got = r.post(t, "/v1/pprof?token=what+the+authenticator+reads", body, "X-Word", "sesame")
	require.Equal(t, http.StatusNoContent, got.status, got.text)
	assert.Equal(t, knownClient{}, client.FromContext(r.sink.ctx[0]).Auth)
}

type discard struct{}

func (discard) Capabilities() consumer.Capabilities { return consumer.Capabilities{} }

func (discard) ConsumeProfiles(context.Context, pprofile.Profiles) error { return nil }

// BenchmarkHandler measures a request without sockets, and the translation alone (op=decode). Bytes are those on the
// wire.
//
// go test -run='^$' -bench=Handler -benchtime=2s -count=6 -cpu=1 ./receiver/pprofreceiver.
func BenchmarkHandler(b *testing.B) {
	r := must.Get(newReceiver(receivertest.NewNopSettings(metadata.Type), createDefaultConfig().(*Config), discard{}))(b)
	handler := r.sections[0].(*server).handler()
	for _, file := range profiletest.OwnPprofs(b) {
		body := file.Bytes(b)
		b.Run("profile="+file.Name+"/op=decode", func(b *testing.B) {
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				_, _, err := r.intake.formats.pprof(false, "")(body, r.intake.newSource())
				require.NoError(b, err)
			}
		})
		b.Run("profile="+file.Name+"/op=request", func(b *testing.B) {
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				request := httptest.NewRequest(http.MethodPost, "/v1/pprof?service.name=bench", bytes.NewReader(body))
				response := httptest.NewRecorder()
				handler.ServeHTTP(response, request)
				require.Equal(b, http.StatusNoContent, response.Code)
			}
		})
	}
}
