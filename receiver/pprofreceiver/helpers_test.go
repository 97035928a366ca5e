// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/golang/snappy"
	"github.com/google/pprof/profile"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/pdata/pprofile"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/receivertest"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
	"github.com/otelpprof/otelpprof/receiver/pprofreceiver/internal/metadata"
)

// running is a receiver that is started, and the messages that it has passed on.
type running struct {
	url       string
	address   string
	sink      *sink
	telemetry *componenttest.Telemetry
	receiver  *pprofReceiver
	client    *http.Client
}

// run starts a receiver on a free port. It is shut down when the test ends.
func run(tb testing.TB, change func(*Config, *ServerConfig)) *running {
	tb.Helper()
	return runOn(tb, componenttest.NewNopHost(), change)
}

// runWaiting is run with another time for which requests above a limit wait.
func runWaiting(tb testing.TB, wait time.Duration, change func(*Config, *ServerConfig)) *running {
	tb.Helper()
	return runOn(tb, componenttest.NewNopHost(), change, func(r *pprofReceiver) { r.sections[0].(*server).limiter.wait = wait })
}

func runOn(tb testing.TB, host component.Host, change func(*Config, *ServerConfig), beforeStart ...func(*pprofReceiver)) *running {
	tb.Helper()
	cfg := createDefaultConfig().(*Config)
	section := cfg.Server.Get()
	section.HTTP.NetAddr.Endpoint = "127.0.0.1:0"
	if change != nil {
		change(cfg, section)
	}
	r := runInto(tb, host, cfg, &sink{}, beforeStart...)
	r.address = r.receiver.sections[0].(*server).http.Address.String()
	r.url = "http://" + r.address
	return r
}

// runConfig starts a receiver with any configuration. It is shut down when the test ends.
func runConfig(tb testing.TB, host component.Host, cfg *Config) *running {
	tb.Helper()
	return runInto(tb, host, cfg, &sink{})
}

// runInto is runConfig with a prepared sink.
func runInto(tb testing.TB, host component.Host, cfg *Config, next *sink, beforeStart ...func(*pprofReceiver)) *running {
	tb.Helper()
	r := &running{sink: next, telemetry: componenttest.NewTelemetry(), client: &http.Client{Transport: &http.Transport{DisableCompression: true}}}
	set := receivertest.NewNopSettings(metadata.Type)
	set.ID, set.TelemetrySettings = component.NewID(metadata.Type), r.telemetry.NewTelemetrySettings()
	set.BuildInfo.Version = "1.2.3"
	var err error
	r.receiver, err = newReceiver(set, cfg, r.sink)
	require.NoError(tb, err)
	for _, change := range beforeStart {
		change(r.receiver)
	}
	require.NoError(tb, r.receiver.Start(tb.Context(), host))
	tb.Cleanup(func() {
		r.client.CloseIdleConnections()
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		require.NoError(tb, r.receiver.Shutdown(ctx))
		require.NoError(tb, r.telemetry.Shutdown(ctx))
	})
	return r
}

func nopSettings() receiver.Settings { return receivertest.NewNopSettings(metadata.Type) }

// reply is an answer with its whole body.
type reply struct {
	status int
	header http.Header
	text   string
}

// post sends body to the path and query, with pairs of header names and values.
func (r *running) post(tb testing.TB, target string, body []byte, headers ...string) reply {
	tb.Helper()
	return r.do(tb, http.MethodPost, target, bytes.NewReader(body), headers...)
}

// postLater posts a pprof in the background.
func (r *running) postLater(t *testing.T, body []byte, headers ...string) <-chan reply {
	t.Helper()
	got := make(chan reply, 1)
	go func() {
		answer, err := r.send(t.Context(), http.MethodPost, "/v1/pprof", bytes.NewReader(body), headers...)
		assert.NoError(t, err)
		got <- answer
	}()
	return got
}

func (r *running) do(tb testing.TB, method, target string, body io.Reader, headers ...string) reply {
	tb.Helper()
	got, err := r.send(tb.Context(), method, target, body, headers...)
	require.NoError(tb, err)
	return got
}

func (r *running) send(ctx context.Context, method, target string, body io.Reader, headers ...string) (reply, error) {
	request, err := http.NewRequestWithContext(ctx, method, r.url+target, body)
	if err != nil {
		return reply{}, err
	}
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	response, err := r.client.Do(request)
	if err != nil {
		return reply{}, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	return reply{status: response.StatusCode, header: response.Header, text: string(text)}, err
}

// assertRefusals compares the counts of refusals by reason over all APIs.
func (r *running) assertRefusals(t *testing.T, want map[string]int64) {
	t.Helper()
	if len(want) == 0 {
		want = map[string]int64{}
	}
	assert.Equal(t, want, r.counts("otelcol_receiver_pprof_refusals", "reason"))
}

// refusals returns the number of requests that were refused with this reason. They can be counted after the answer.
func (r *running) refusals(reason string) int64 {
	return r.counts("otelcol_receiver_pprof_refusals", "reason")[reason]
}

// counts returns the sums of a metric by attribute, without zeros.
func (r *running) counts(name, key string) map[string]int64 {
	sums := map[string]int64{}
	metric, err := r.telemetry.GetMetric(name)
	if err != nil {
		return sums
	}
	for _, point := range metric.Data.(metricdata.Sum[int64]).DataPoints {
		value, _ := point.Attributes.Value(attribute.Key(key))
		sums[value.AsString()] += point.Value
	}
	return sums
}

// points returns data points of the API for raw pprof.
func points(key string, values map[string]int64) []metricdata.DataPoint[int64] {
	var all []metricdata.DataPoint[int64]
	for value, count := range values {
		all = append(all, metricdata.DataPoint[int64]{Attributes: attribute.NewSet(apiPprof, attribute.String(key, value)), Value: count})
	}
	return all
}

var apiPprof = attribute.String("api", "pprof")

// sink stores messages, or calls consume.
type sink struct {
	mu      sync.Mutex
	got     []pprofile.Profiles
	ctx     []context.Context
	consume func(context.Context) error
}

func (*sink) Capabilities() consumer.Capabilities { return consumer.Capabilities{} }

func (s *sink) ConsumeProfiles(ctx context.Context, pd pprofile.Profiles) error {
	s.mu.Lock()
	consume := s.consume
	s.mu.Unlock()
	if consume != nil {
		if err := consume(ctx); err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.got = append(s.got, pd)
	s.ctx = append(s.ctx, ctx)
	return nil
}

// set changes consume while the sink is in use.
func (s *sink) set(consume func(context.Context) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.consume = consume
}

func (s *sink) all() []pprofile.Profiles {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.got
}

// wait waits for n messages, and checks them against OTLP's rules.
func (s *sink) wait(tb testing.TB, n int) []pprofile.Profiles {
	tb.Helper()
	require.Eventually(tb, func() bool { return len(s.all()) >= n }, time.Minute, 2*time.Millisecond)
	all := s.all()
	for _, message := range all {
		require.NoError(tb, asInPprof.Check(message))
	}
	return all
}

// one returns the only message, and checks it against OTLP's rules.
func (s *sink) one(tb testing.TB) pprofile.Profiles {
	tb.Helper()
	all := s.all()
	require.Len(tb, all, 1)
	require.NoError(tb, asInPprof.Check(all[0]))
	return all[0]
}

// resource returns the resource attributes of the only message.
func (s *sink) resource(tb testing.TB) map[string]any {
	tb.Helper()
	return s.one(tb).ResourceProfiles().At(0).Resource().Attributes().AsRaw()
}

// cpuProfile returns a small profile with two sample types and n samples.
func cpuProfile(n int) *profile.Profile {
	function := &profile.Function{ID: 1, Name: "main.work", SystemName: "main.work", Filename: "main.go", StartLine: 3}
	location := &profile.Location{ID: 1, Address: 0x1000, Line: []profile.Line{{Function: function, Line: 7}}}
	p := &profile.Profile{
		SampleType:    []*profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}},
		PeriodType:    &profile.ValueType{Type: "cpu", Unit: "nanoseconds"},
		Period:        10_000_000,
		TimeNanos:     1_700_000_000_000_000_000,
		DurationNanos: 1_000_000_000,
		Function:      []*profile.Function{function},
		Location:      []*profile.Location{location},
	}
	for i := range n {
		p.Sample = append(p.Sample, &profile.Sample{
			Location: []*profile.Location{location},
			Value:    []int64{int64(i + 1), int64(i+1) * 10_000_000},
			Label:    map[string][]string{"worker": {string(rune('a' + i))}},
		})
	}
	return p
}

// plain returns an uncompressed profile.
func plain(tb testing.TB, p *profile.Profile) []byte {
	tb.Helper()
	var out bytes.Buffer
	require.NoError(tb, p.WriteUncompressed(&out))
	return out.Bytes()
}

// compressed returns what a compressor makes of content.
func compressed[W io.WriteCloser](tb testing.TB, content io.Reader, compressor func(io.Writer) W) []byte {
	tb.Helper()
	var out bytes.Buffer
	writer := compressor(&out)
	_, err := io.Copy(writer, content)
	require.NoError(tb, errors.Join(err, writer.Close()))
	return out.Bytes()
}

func gzipped(tb testing.TB, content io.Reader) []byte {
	tb.Helper()
	return compressed(tb, content, gzip.NewWriter)
}

func zstdOf(tb testing.TB, content io.Reader) []byte {
	tb.Helper()
	return compressed(tb, content, func(to io.Writer) io.WriteCloser {
		writer, err := zstd.NewWriter(to, zstd.WithEncoderConcurrency(1))
		require.NoError(tb, err)
		return writer
	})
}

func lz4Of(tb testing.TB, content io.Reader) []byte {
	tb.Helper()
	return compressed(tb, content, lz4.NewWriter)
}

func gz(tb testing.TB, content []byte) []byte {
	tb.Helper()
	return gzipped(tb, bytes.NewReader(content))
}

func zs(tb testing.TB, content []byte) []byte {
	tb.Helper()
	return zstdOf(tb, bytes.NewReader(content))
}

func zlibOf(tb testing.TB, content []byte) []byte {
	tb.Helper()
	return compressed(tb, bytes.NewReader(content), zlib.NewWriter)
}

func snappyFramed(tb testing.TB, content []byte) []byte {
	tb.Helper()
	return compressed(tb, bytes.NewReader(content), snappy.NewBufferedWriter)
}

// asInPprof has the rules of OTLP, without those that valid pprofs can violate.
var asInPprof = profiletest.CheckOptions{AllowNegativeLines: true, AllowNamelessFunctions: true}
