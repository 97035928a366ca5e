// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofexporter

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"maps"
	"math"
	"mime"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/receiver/receivertest"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/otelpprof/otelpprof/exporter/internal/deliverytest"
	"github.com/otelpprof/otelpprof/exporter/internal/series"
	"github.com/otelpprof/otelpprof/internal/testkit/must"
	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
	"github.com/otelpprof/otelpprof/receiver/pprofreceiver"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

// fieldsOf reads a form.
func fieldsOf(t *testing.T, contentType string, body []byte) map[string][]byte {
	t.Helper()
	_, parameters, err := mime.ParseMediaType(contentType)
	require.NoError(t, err)
	reader := multipart.NewReader(bytes.NewReader(body), parameters["boundary"])
	fields := map[string][]byte{}
	for {
		part, err := reader.NextPart()
		if err != nil {
			require.ErrorIs(t, err, io.EOF)
			return fields
		}
		fields[part.FormName()+"/"+part.FileName()], err = io.ReadAll(part)
		require.NoError(t, err)
	}
}

// ownReceiver starts a receiver pprof and returns its URL.
func ownReceiver(t *testing.T) (string, *consumertest.ProfilesSink) {
	t.Helper()
	endpoint := deliverytest.FreeEndpoint(t)
	factory := pprofreceiver.NewFactory()
	cfg := factory.CreateDefaultConfig()
	require.NoError(t, confmap.NewFromStringMap(map[string]any{"server": map[string]any{"endpoint": endpoint}}).Unmarshal(cfg))
	sink := &consumertest.ProfilesSink{}
	r := must.Get(factory.CreateProfiles(t.Context(), receivertest.NewNopSettings(component.MustNewType("pprof")), cfg, sink))(t)
	require.NoError(t, r.Start(t.Context(), componenttest.NewNopHost()))
	t.Cleanup(func() { assert.NoError(t, r.Shutdown(context.WithoutCancel(t.Context()))) })
	return "http://" + endpoint, sink
}

// Pyroscope's Go client sends to the receiver pprof, and the exporter sends the same requests again.
func TestHTTPPyroscopeReplaysTheClient(t *testing.T) {
	for _, capture := range profiletest.Captures(t) {
		if !strings.HasPrefix(capture.Name, "pyroscope-go/") {
			continue
		}
		target := strings.Fields(capture.StartLine)[1]
		t.Run(capture.Name, func(t *testing.T) {
			receiver, received := ownReceiver(t)
			again := newSink(t, nil)
			p := newPushing(t, again.URL, func(cfg *Config) { cfg.HTTP.Get().Format = FormatPyroscope })

			sent := must.Get(url.Parse(target))(t)
			request := must.Get(http.NewRequestWithContext(t.Context(), http.MethodPost, receiver+target, bytes.NewReader(capture.Body)))(t)
			request.Header.Set("Content-Type", capture.Header.Get("Content-Type"))
			response := must.Get(http.DefaultClient.Do(request))(t)
			response.Body.Close()
			require.Equal(t, http.StatusOK, response.StatusCode)
			require.Len(t, received.AllProfiles(), 1)
			require.NoError(t, p.ConsumeProfiles(t.Context(), received.AllProfiles()[0]))

			require.Len(t, again.requests(), 1)
			got := again.requests()[0]
			query := must.Get(url.ParseQuery(got.query))(t)
			assert.Equal(t, "/ingest", got.path)
			// The client's session ends at the receiver.
			name := regexp.MustCompile("__session_id__=[0-9a-f]+,").ReplaceAllString(sent.Query().Get("name"), "")
			assert.Equal(t, name, query.Get("name"), "name and labels")
			assert.Equal(t, sent.Query().Get("spyName"), query.Get("spyName"))
			assert.ElementsMatch(t, slices.Collect(maps.Keys(sent.Query())), slices.Collect(maps.Keys(query)), "the same parameters")
			want := fieldsOf(t, capture.Header.Get("Content-Type"), capture.Body)
			have := fieldsOf(t, got.header.Get("Content-Type"), got.body)
			require.Len(t, have, len(want), "the same fields")
			for name := range want {
				require.Contains(t, have, name)
				if name == "profile/profile.pprof" {
					assert.Empty(t, profiletest.DiffPprof(deliverytest.Parsed(t, want[name]), deliverytest.Parsed(t, have[name])))
					assert.NotEmpty(t, query.Get("from"))
					assert.GreaterOrEqual(t, query.Get("until"), query.Get("from"))
					continue
				}
				var a, b map[string]map[string]any
				require.NoError(t, json.Unmarshal(want[name], &a))
				require.NoError(t, json.Unmarshal(have[name], &b))
				assert.Equal(t, a, b, name)
			}
		})
	}
}

// A profile that is sent to the receiver pprof arrives unchanged, with its attributes.
func TestHTTPRoundTrip(t *testing.T) {
	attributes := map[string]any{"service.name": "checkout", "region": "eu-1", "host.name": "h1"}
	for _, format := range []string{FormatRaw, FormatPyroscope, FormatPyroscopePush} {
		t.Run(format, func(t *testing.T) {
			receiver, received := ownReceiver(t)
			if format == FormatRaw {
				receiver += "/v1/pprof"
			}
			p := newPushing(t, receiver, func(cfg *Config) {
				cfg.HTTP.Get().Format, cfg.HTTP.Get().QueryResource = format, true
			})
			pd := deliverytest.Decode(t, deliverytest.OwnProfile(t, "cpu.pb.gz"), attributes)
			require.NoError(t, p.ConsumeProfiles(t.Context(), pd))
			require.Len(t, received.AllProfiles(), 1)
			got := received.AllProfiles()[0]
			resource := got.ResourceProfiles().At(0).Resource().Attributes().AsRaw()
			delete(resource, "pyroscope_spy")
			assert.Equal(t, attributes, resource)
			var before, after []byte
			for payload, err := range pprof.NewEncoder(pprof.EncodeOptions{}).All(pd) {
				require.NoError(t, err)
				before = bytes.Clone(payload.Pprof)
			}
			for payload, err := range pprof.NewEncoder(pprof.EncodeOptions{}).All(got) {
				require.NoError(t, err)
				after = bytes.Clone(payload.Pprof)
			}
			assert.Empty(t, profiletest.DiffPprof(deliverytest.Parsed(t, before), deliverytest.Parsed(t, after)))
		})
	}
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

// Labels above the limit are dropped and counted, once for each profile that arrives.
func TestHTTPLabelsAboveTheLimit(t *testing.T) {
	attributes := map[string]any{"service.name": "checkout", "a": "1", "b": "2", "c": "3", "d": "4"}
	for _, format := range []string{FormatPyroscope, FormatPyroscopePush} {
		s := newSink(t, func(i int) int { return []int{500, 200}[min(i, 1)] })
		p := newPushing(t, s.URL, func(cfg *Config) {
			retrying(cfg)
			cfg.HTTP.Get().Format, cfg.HTTP.Get().Labels = format, LabelsConfig{Max: 2, First: []string{"d"}}
		})
		require.NoError(t, p.ConsumeProfiles(t.Context(), deliverytest.Decode(t, deliverytest.OwnProfile(t, "cpu.pb.gz"), attributes)))
		assert.EqualValues(t, 2, counted(t, p.telemetry, "labels_dropped", "", ""), format)
		require.Len(t, s.requests(), 1)
		if format == FormatPyroscope {
			assert.Contains(t, s.requests()[0].query, "name=checkout%7Ba%3D1%2Cd%3D4%7D")
		} else {
			labels := readPush(t, s.requests()[0].body)[0].labels
			assert.Equal(t, map[string]string{"__name__": "process_cpu", "service_name": "checkout", "a": "1", "d": "4"}, labels)
		}
	}
}

// pushed is a series of a PushRequest.
type pushed struct {
	labels  map[string]string
	profile []byte
	id      string
}

// messages returns the fields of a message. All of them are messages, bytes or text.
func messages(t *testing.T, data []byte) (fields []struct {
	number protowire.Number
	value  []byte
},
) {
	t.Helper()
	for len(data) > 0 {
		number, kind, n := protowire.ConsumeTag(data)
		require.Positive(t, n)
		require.Equal(t, protowire.BytesType, kind)
		value, m := protowire.ConsumeBytes(data[n:])
		require.Positive(t, m)
		fields = append(fields, struct {
			number protowire.Number
			value  []byte
		}{number, value})
		data = data[n+m:]
	}
	return fields
}

func readPush(t *testing.T, body []byte) []pushed {
	t.Helper()
	var all []pushed
	for _, series := range messages(t, body) {
		require.EqualValues(t, 1, series.number)
		one := pushed{labels: map[string]string{}}
		for _, field := range messages(t, series.value) {
			inner := messages(t, field.value)
			require.Len(t, inner, 2)
			if field.number == 1 {
				require.NotContains(t, one.labels, string(inner[0].value))
				one.labels[string(inner[0].value)] = string(inner[1].value)
			} else {
				require.EqualValues(t, 2, field.number)
				one.profile, one.id = inner[0].value, string(inner[1].value)
			}
		}
		all = append(all, one)
	}
	return all
}

func TestHTTPPush(t *testing.T) {
	s := newSink(t, func(i int) int { return []int{500, 200}[min(i, 1)] })
	p := newPushing(t, s.URL, func(cfg *Config) {
		retrying(cfg)
		cfg.HTTP.Get().Format, cfg.HTTP.Get().MaxSeriesPerRequest = FormatPyroscopePush, 4
	})
	require.NoError(t, p.ConsumeProfiles(t.Context(), several(t, 3)))
	require.Len(t, s.requests(), 2)
	assert.Equal(t, "/push.v1.PusherService/Push", s.requests()[0].path)
	assert.Equal(t, "application/proto", s.requests()[0].header.Get("Content-Type"))
	assert.Equal(t, "1", s.requests()[0].header.Get("Connect-Protocol-Version"))
	first, second := readPush(t, s.requests()[0].body), readPush(t, s.requests()[1].body)
	assert.Len(t, first, 4)
	require.Len(t, second, 2)
	assert.Equal(t, map[string]string{"__name__": "process_cpu", "service_name": "s2"}, second[1].labels)
	assert.Regexp(t, "^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$", second[1].id)

	require.NoError(t, p.ConsumeProfiles(t.Context(), deliverytest.CPU(t, "one")))
	third := readPush(t, s.requests()[2].body)
	assert.Empty(t, profiletest.DiffPprof(deliverytest.Parsed(t, deliverytest.SmallCPU(t)), deliverytest.Parsed(t, third[0].profile)))
}

// Profiles with other resource headers have another request, also if one of them has to be sent again.
func TestHTTPPushResourceHeaders(t *testing.T) {
	s := newSink(t, func(i int) int { return []int{200, 503, 200}[min(i, 2)] })
	p := newPushing(t, s.URL, func(cfg *Config) {
		retrying(cfg)
		cfg.HTTP.Get().Format, cfg.HTTP.Get().ResourceHeaders = FormatPyroscopePush, map[string]string{"X-Scope-OrgID": "{service.name}"}
	})
	require.NoError(t, p.ConsumeProfiles(t.Context(), several(t, 3)))
	var got [][]string
	for _, r := range s.requests() {
		request := []string{r.header.Get("X-Scope-OrgID")}
		for _, one := range readPush(t, r.body) {
			request = append(request, one.labels["service_name"])
		}
		got = append(got, request)
	}
	assert.Equal(t, [][]string{{"s0", "s0", "s0"}, {"s1", "s1", "s1"}, {"s2", "s2", "s2"}}, got)
}

// The backend takes no more pprofs at once than its rate allows: after its answer, each has a request of its own, and all arrive.
func TestHTTPPushAboveARate(t *testing.T) {
	var taken atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if len(readPush(t, body)) > 1 {
			http.Error(w, "ingestion rate limit exceeded", http.StatusTooManyRequests)
			return
		}
		taken.Add(1)
	}))
	t.Cleanup(server.Close)
	p := newPushing(t, server.URL, func(cfg *Config) {
		retrying(cfg)
		cfg.HTTP.Get().Format = FormatPyroscopePush
	})
	require.NoError(t, p.ConsumeProfiles(t.Context(), several(t, 3)))
	assert.EqualValues(t, 6, taken.Load())
}

// The backend rejects one of several requests. Only the profiles of that request are lost, and none arrives twice.
func TestHTTPPushFaults(t *testing.T) {
	s := newSink(t, func(i int) int { return []int{200, 400, 503, 200}[min(i, 3)] })
	p := newPushing(t, s.URL, func(cfg *Config) {
		retrying(cfg)
		cfg.HTTP.Get().Format, cfg.HTTP.Get().MaxSeriesPerRequest = FormatPyroscopePush, 2
	})
	_ = p.ConsumeProfiles(t.Context(), several(t, 3))
	var services []string
	for _, r := range s.requests() {
		for _, one := range readPush(t, r.body) {
			services = append(services, one.labels["service_name"])
		}
	}
	assert.Equal(t, []string{"s0", "s0", "s2", "s2"}, services)
	assert.EqualValues(t, 4, counted(t, p.telemetry, "profiles_refused", "reason", refusedRejected))
	assert.EqualValues(t, 8, counted(t, p.telemetry, "profiles_written", "", ""))
}

// The end of a profile is not before its start, however long the profile claims to be.
func TestIngestQueryOfALongProfile(t *testing.T) {
	for duration, want := range map[uint64]string{0: "7", 3: "10", math.MaxUint64: "18446744073709551615"} {
		query := ingestQuery(&pprof.Payload{Time: 7, DurationNano: duration}, &series.Labels{})
		assert.Equal(t, "7", query.Get("from"))
		assert.Equal(t, want, query.Get("until"))
	}
}
