// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package destinations

import (
	"bytes"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pprofile"
	"go.uber.org/goleak"

	"github.com/otelpprof/otelpprof/internal/testkit/gateway"
	"github.com/otelpprof/otelpprof/internal/testkit/gatewaytest"
	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	// within is how long profiles may take to arrive.
	within    = time.Minute
	pollEvery = 20 * time.Millisecond
)

// config has the exporters that docs/destinations.md recommends, with the options that it names for each backend.
const config = `yaml:
receivers:
  pprof:
    server:
      endpoint: %[1]s
processors:
  profile_deduplicator:
  profile_deduplicator/parca:
    drop_empty_profiles: true
exporters:
  pprof/pyroscope_push:
    http: {endpoint: %[2]s/push, format: pyroscope_push}
  pprof/pyroscope_ingest:
    http: {endpoint: %[2]s/ingest, format: pyroscope}
  otlp_http/pyroscope:
    profiles_endpoint: %[2]s/otlp
    compression: none
  pprof/parca:
    http: {endpoint: %[2]s/parca, format: parca}
  otlp_grpc/parca:
    endpoint: %[3]s
    tls: {insecure: true}
extensions:
  health_check:
    endpoint: %[4]s
service:
  extensions: [health_check]
  pipelines:
    profiles:
      receivers: [pprof]
      processors: [profile_deduplicator]
      exporters: [pprof/pyroscope_push, pprof/pyroscope_ingest, otlp_http/pyroscope]
    profiles/parca:
      receivers: [pprof]
      processors: [profile_deduplicator/parca]
      exporters: [pprof/parca, otlp_grpc/parca]
  telemetry:
    metrics: {level: none}
`

// profileNames are the names of profiles in Pyroscope, by client and kind, as clients that send to it directly see them.
// Parca's own scraper has the same, but for goroutine.
var profileNames = map[string]string{
	"dd-trace-go/01-upload delta-heap.pprof":        "memory",
	"dd-trace-go/01-upload delta-block.pprof":       "block",
	"dd-trace-go/01-upload delta-mutex.pprof":       "mutex",
	"dd-trace-go/01-upload goroutines.pprof":        "goroutines",
	"dd-trace-go/01-upload cpu.pprof":               "process_cpu",
	"push-v1-connect/01-proto series[0].samples[0]": "process_cpu",
	"push-v1-connect/02-json series[0].samples[0]":  "process_cpu",
	"pyroscope-go/01-heap profile":                  "memory",
	"pyroscope-go/02-mutex profile":                 "mutex",
	"pyroscope-go/03-goroutine profile":             "goroutines",
	"pyroscope-go/04-block profile":                 "block",
	"pyroscope-go/05-cpu profile":                   "process_cpu",
	"pyroscope-go/06-goroutine profile":             "goroutines",
	"pyroscope-go/07-mutex profile":                 "mutex",
	"pyroscope-go/08-block profile":                 "block",
	"pyroscope-go/09-mutex profile":                 "mutex",
	"pyroscope-go/10-heap profile":                  "memory",
	"pyroscope-nodejs/01-wall -":                    "wall",
	"pyroscope-nodejs/02-heap -":                    "memory",
	"pyroscope-nodejs/03-wall -":                    "wall",
}

// TestDestinations sends what clients sent, and holds what each backend gets against what is known of the payloads.
func TestDestinations(t *testing.T) {
	b := startBackends(t)
	address := startGateway(t, b)
	var pyroscope, parca []string
	for _, payload := range profiletest.ClientPayloads(t) {
		name, uploaded := profileNames[payload.File+" "+payload.Part]
		if !uploaded {
			continue // It is the answer of a scraped program, or the client leaves the request to others.
		}
		totals := totalsOf(payload.SampleTypes, payload.ValueSums)
		pyroscope = append(pyroscope, name+" "+totals)
		parca = append(parca, strings.Replace(name, "goroutines", "goroutine", 1)+" "+totals)
	}
	require.Len(t, pyroscope, len(profileNames))
	for _, capture := range profiletest.Captures(t) {
		if strings.HasPrefix(capture.StartLine, "POST ") && !strings.HasPrefix(capture.Name, "datadog-pprof/") {
			upload(t, address, capture)
		}
	}
	for _, test := range []struct {
		route *route
		want  []string
	}{{b.push, pyroscope}, {b.ingest, pyroscope}, {b.writeRaw, parca}} {
		t.Run(test.route.name, func(t *testing.T) {
			series := test.route.wait(t, len(test.want))
			got := make([]string, len(series))
			for i, s := range series {
				got[i] = s.name + " " + s.totals
			}
			assert.ElementsMatch(t, test.want, got)
			requireCapture(t, test.route.name, series)
		})
	}
	t.Run("otlp", func(t *testing.T) { checkOTLP(t, b) })
}

func startGateway(t *testing.T, b *backends) (address string) {
	t.Helper()
	addresses, err := gateway.FreeAddresses(t.Context(), 2)
	require.NoError(t, err)
	gatewaytest.Run(t, gateway.Options{
		Configs:   []string{fmt.Sprintf(config, addresses[0], b.http.URL, b.otlp.Address(), addresses[1])},
		HealthURL: "http://" + addresses[1],
	})
	return addresses[0]
}

// upload sends what a client sent, as it sent it.
func upload(t *testing.T, address string, capture profiletest.Capture) {
	t.Helper()
	target := strings.Fields(capture.StartLine)[1]
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+address+target, bytes.NewReader(capture.Body))
	require.NoError(t, err)
	request.Header = capture.Header.Clone()
	answer, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	require.Equal(t, http.StatusOK, answer.StatusCode, capture.Name)
	http.DefaultClient.CloseIdleConnections()
}

// totalsOf shows the sums of all sample types.
func totalsOf(types []string, sums []int64) string {
	texts := make([]string, len(types))
	for i, sampleType := range types {
		texts[i] = fmt.Sprintf("%s=%d", sampleType, sums[i])
	}
	slices.Sort(texts)
	return strings.Join(texts, " ")
}

// strict returns a message that Parca takes.
func strict() pprofile.Profiles {
	pd := pprofile.NewProfiles()
	d := pd.Dictionary()
	d.StringTable().Append("", "cpu")
	d.LinkTable().AppendEmpty()
	p := pd.ResourceProfiles().AppendEmpty().ScopeProfiles().AppendEmpty().Profiles().AppendEmpty()
	p.SetProfileID([16]byte{1})
	p.PeriodType().SetTypeStrindex(1)
	p.Samples().AppendEmpty().Values().Append(1)
	return pd
}

// TestParcaRefuses: the server that stands for Parca is as strict as Parca.
func TestParcaRefuses(t *testing.T) {
	require.NoError(t, parcaRefuses(strict()))
	profileOf := func(pd pprofile.Profiles) pprofile.Profile {
		return pd.ResourceProfiles().At(0).ScopeProfiles().At(0).Profiles().At(0)
	}
	for name, change := range map[string]func(pprofile.Profiles){
		"a link without a span": func(pd pprofile.Profiles) { pd.Dictionary().LinkTable().AppendEmpty().SetTraceID([16]byte{1}) },
		"a link at 0":           func(pd pprofile.Profiles) { pd.Dictionary().LinkTable().At(0).SetSpanID([8]byte{1}) },
		"no sample": func(pd pprofile.Profiles) {
			profileOf(pd).Samples().RemoveIf(func(pprofile.Sample) bool { return true })
		},
		"no id":                func(pd pprofile.Profiles) { profileOf(pd).SetProfileID([16]byte{}) },
		"no period type":       func(pd pprofile.Profiles) { profileOf(pd).PeriodType().SetTypeStrindex(0) },
		"two values, no time":  func(pd pprofile.Profiles) { profileOf(pd).Samples().At(0).Values().Append(1) },
		"a time after the end": func(pd pprofile.Profiles) { profileOf(pd).Samples().At(0).TimestampsUnixNano().Append(1) },
	} {
		pd := strict()
		change(pd)
		assert.Error(t, parcaRefuses(pd), name)
	}
	assert.Error(t, sequential(&profile.Profile{Function: []*profile.Function{{ID: 2}}}))
}

// TestPyroscopeRefuses: the server that stands for Pyroscope is as strict as Pyroscope.
func TestPyroscopeRefuses(t *testing.T) {
	payload := func(sampleType string, samples int) []byte {
		p := &profile.Profile{SampleType: []*profile.ValueType{{Type: sampleType, Unit: "count"}}}
		for range samples {
			p.Sample = append(p.Sample, &profile.Sample{Value: []int64{1}})
		}
		var buffer bytes.Buffer
		require.NoError(t, p.Write(&buffer))
		return buffer.Bytes()
	}
	labels := map[string]string{"service_name": "checkout"}
	_, err := (&series{name: "process_cpu", labels: labels}).take(payload("cpu", 1))
	require.NoError(t, err)
	for name, refused := range map[string]func() error{
		"a name of a metric": func() error { _, err := (&series{name: "a-b", labels: labels}).take(payload("cpu", 1)); return err },
		"no service":         func() error { _, err := (&series{}).take(payload("cpu", 1)); return err },
		"a sample type":      func() error { _, err := (&series{labels: labels}).take(payload("wall-time", 1)); return err },
		"samples":            func() error { _, err := (&series{labels: labels}).take(payload("cpu", maxSamples+1)); return err },
		"no gzip":            func() error { _, err := (&series{labels: labels}).take([]byte("text")); return err },
		"a label twice":      func() error { return (&series{labels: labels}).add("service_name", "x") },
		"a label's name":     func() error { return (&series{labels: labels}).add("a-b", "x") },
		"no value":           func() error { return (&series{labels: labels}).add("a", "") },
	} {
		assert.Error(t, refused(), name)
	}
}

// TestIngestName: the first type that says more decides, and wall before all others.
func TestIngestName(t *testing.T) {
	for want, types := range map[string][]string{
		"wall":        {"samples", "cpu", "wall"},
		"process_cpu": {"cpu", "exception", "alloc_samples", "inuse_objects"},
		"memory":      {"alloc_objects", "cpu"},
		"goroutines":  {"goroutine"},
	} {
		name := ""
		for _, sampleType := range types {
			name = ingestName(name, sampleType, "")
		}
		assert.Equal(t, want, name)
	}
}
