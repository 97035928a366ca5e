// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"reflect"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/client"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.yaml.in/yaml/v3"

	"github.com/otelpprof/otelpprof/internal/memory"
	"github.com/otelpprof/otelpprof/internal/testkit/jfrtest"
	"github.com/otelpprof/otelpprof/internal/testkit/metrictest"
	"github.com/otelpprof/otelpprof/internal/wire/inflate"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

// TestClassify checks the class of errors, which determines the answer and the reason in the metrics.
func TestClassify(t *testing.T) {
	gone, cancel := context.WithCancel(context.Background())
	cancel()
	waiting := context.Background()
	later := errors.New("data refused due to high memory usage")
	tooLarge := consumererror.NewPermanent(fmt.Errorf("cannot send it: %w", memory.ErrTooLarge))

	for _, c := range []struct {
		name      string
		err       error
		status    int
		reason    string
		code      string
		retryable bool
	}{
		{name: "reset connection", err: bodyError(&net.OpError{Op: "read", Err: syscall.ECONNRESET}), status: 400, reason: "aborted", code: "canceled"},
		{name: "permanent for one of several", err: consumerError(waiting, errors.Join(consumererror.NewPermanent(later), later)), status: 503, reason: "consumer_unavailable", code: "unavailable", retryable: true},
		{name: "too large for Kafka", err: consumerError(waiting, consumererror.NewPermanent(inflate.ErrTooLarge)), status: 413, reason: "too_large", code: "resource_exhausted"},
		{name: "too large for one of several", err: consumerError(waiting, errors.Join(tooLarge, later)), status: 503, reason: "consumer_unavailable", code: "unavailable", retryable: true},
		{name: "too large for one, other limits of another", err: consumerError(waiting, errors.Join(tooLarge, consumererror.NewPermanent(later))), status: 413, reason: "too_large", code: "resource_exhausted"},
		{name: "no memory for one of several", err: consumerError(waiting, errors.Join(tooLarge, memory.ErrExhausted)), status: 503, reason: "memory_budget", code: "unavailable", retryable: true},
		{name: "a limit of one, no memory for another", err: consumerError(waiting, errors.Join(consumererror.NewPermanent(pprof.ErrTooLarge), memory.ErrExhausted)), status: 503, reason: "memory_budget", code: "unavailable", retryable: true},
		{name: "client disconnected", err: consumerError(gone, later), status: 400, reason: "aborted", code: "canceled"},
		{name: "anything else", err: errors.New("?"), status: 500, reason: "internal", code: "internal"},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, err := range []error{c.err, fmt.Errorf("wrapped: %w", c.err)} {
				got := classOf(err)
				assert.Equal(t, []any{c.status, c.reason, c.code, c.retryable}, []any{got.status, got.reason, got.connectCode(), got.retryable})
				assert.False(t, c.retryable && isAboutContent(err), "a file is read again after a retryable error")
			}
		})
	}
}

// apiNames returns all values of the attribute api: the names of the APIs, and those of the sections that fetch profiles.
func apiNames() []string {
	names := []string{nameUnknown, nameRemote, nameScrape, nameFile, nameSelf}
	for field := range reflect.TypeFor[APIsConfig]().Fields() {
		if field.IsExported() {
			names = append(names, field.Tag.Get(confmap.MapstructureTag))
		}
	}
	return names
}

// answers has the classes of errors of requests.
var answers = []refusalClass{
	internalError, malformed, notPprof, unknownEncoding, unknownFormat, tooLarge, badQuery, wrongMethod, unknownPath,
	notAllowed, tooSlow, aborted, busy, tenantBusy, outOfMemory, consumerUnavailable, consumerRejected,
}

// TestAnswersAreComplete compares the answers with the reasons in metadata.yaml.
func TestAnswersAreComplete(t *testing.T) {
	var reasons, kinds []string
	for _, answer := range answers {
		assert.GreaterOrEqual(t, answer.status, 400, answer.reason)
		comeAgain := answer.status == http.StatusServiceUnavailable || answer.status == http.StatusTooManyRequests
		assert.Equal(t, comeAgain, answer.retryable, answer.reason)
		reasons = append(reasons, answer.reason)
	}
	for _, repair := range repairKinds {
		kinds = append(kinds, repair.kind)
	}
	code, err := os.ReadFile("refusal.go")
	require.NoError(t, err)
	assert.Len(t, answers, bytes.Count(code, []byte("= refusalClass{status:")), "answers has all classes")
	text, err := os.ReadFile("metadata.yaml")
	require.NoError(t, err)
	var promised struct {
		Attributes map[string]struct {
			Enum []string `yaml:"enum"`
		} `yaml:"attributes"`
	}
	require.NoError(t, yaml.Unmarshal(text, &promised))
	assert.ElementsMatch(t, promised.Attributes["reason"].Enum, reasons)
	assert.ElementsMatch(t, promised.Attributes["kind"].Enum, kinds)
	assert.ElementsMatch(t, promised.Attributes["api"].Enum, apiNames())
	outcomes := []string{outcomeOK, outcomeBaseline}
	for _, class := range []refusalClass{
		tooLarge, malformed, notPprof, busy, outOfMemory, consumerUnavailable, consumerRejected, aborted,
		internalError, unreachable, badAnswer, profilerBusy,
	} {
		outcomes = append(outcomes, class.reason)
	}
	assert.ElementsMatch(t, promised.Attributes["outcome"].Enum, outcomes)
}

// refused is a request that is refused.
type refused struct {
	// target is the path and query. In a table of one path it is what follows that path.
	target  string
	body    []byte
	headers []string
	status  int
	// reason is that of the metric.
	reason string
	// says is a part of the text.
	says string
}

// connectCodes are the codes of Connect and Pyroscope for the reasons of refusals.
var connectCodes = map[string]string{
	"bad_query": "invalid_argument", "malformed": "invalid_argument", "unknown_format": "invalid_argument", "not_pprof": "invalid_argument",
	"too_large": "resource_exhausted", "unknown_encoding": "unimplemented",
}

// checkRefusals sends requests that are refused. Each answer has the form of its API, the refusal is counted, and nothing is passed on.
func checkRefusals(t *testing.T, path string, change func(*Config, *ServerConfig), rows map[string]refused) {
	t.Helper()
	for name, c := range rows {
		t.Run(name, func(t *testing.T) {
			r := run(t, change)
			got := r.post(t, path+c.target, c.body, c.headers...)
			assert.Equal(t, c.status, got.status, got.text)
			text := got.text
			if strings.HasPrefix(path+c.target, "/ingest") || strings.HasPrefix(path, pushPath) {
				assert.Equal(t, "nosniff", got.header.Get("X-Content-Type-Options"))
				answer := connectError(t, got)
				assert.Equal(t, connectCodes[c.reason], answer.Code)
				text = answer.Message
			} else {
				assert.Equal(t, "text/plain; charset=utf-8", got.header.Get("Content-Type"))
			}
			assert.Contains(t, text, c.says)
			assert.NotEmpty(t, strings.TrimSpace(text))
			assert.Less(t, len(text), 2000)
			assert.Empty(t, r.sink.all())
			r.assertRefusals(t, map[string]int64{c.reason: 1})
		})
	}
}

func TestMetrics(t *testing.T) {
	r := run(t, nil)
	full, empty := plain(t, cpuProfile(3)), plain(t, cpuProfile(0))
	compressed := gz(t, full)
	require.Equal(t, http.StatusNoContent, r.post(t, "/v1/pprof", compressed).status)
	require.Equal(t, http.StatusNoContent, r.post(t, "/v1/pprof", full).status)
	require.Equal(t, http.StatusNoContent, r.post(t, "/v1/pprof", empty).status)
	require.Equal(t, http.StatusBadRequest, r.post(t, "/v1/pprof", full[:len(full)-1]).status)

	wire, inflated := len(compressed)+2*len(full)-1+len(empty), 3*len(full)-1+len(empty)
	metrictest.AssertPoints(t, r.telemetry, "otelcol_receiver_pprof_payloads", []metricdata.DataPoint[int64]{{Attributes: attribute.NewSet(apiPprof), Value: 4}})
	metrictest.AssertPoints(t, r.telemetry, "otelcol_receiver_pprof_bytes", points("form", map[string]int64{"wire": int64(wire), "inflated": int64(inflated)}))
	metrictest.AssertPoints(t, r.telemetry, "otelcol_receiver_pprof_empty_profiles", []metricdata.DataPoint[int64]{{Attributes: attribute.NewSet(apiPprof), Value: 1}})
	metrictest.AssertObservations(t, r.telemetry, "otelcol_receiver_pprof_translate_duration", map[attribute.Set]uint64{attribute.NewSet(apiPprof): 4})
	r.assertRefusals(t, map[string]int64{"malformed": 1})

	// From the receiver helper: 3 samples of 2 types, twice.
	assert.EqualValues(t, 12, r.standard(t, "otelcol_receiver_accepted_profile_samples"))
	assert.EqualValues(t, 0, r.standard(t, "otelcol_receiver_refused_profile_samples"))
}

// standard returns the value of a metric of the receiver helper.
func (r *running) standard(t *testing.T, name string) int64 {
	t.Helper()
	metric, err := r.telemetry.GetMetric(name)
	require.NoError(t, err)
	all := metric.Data.(metricdata.Sum[int64]).DataPoints
	require.Len(t, all, 1)
	assert.Equal(t, attribute.NewSet(attribute.String("receiver", "pprof"), attribute.String("transport", "http")), all[0].Attributes)
	return all[0].Value
}

// TestRepairs: every field of pprof.Repairs has its own kind, and is counted.
func TestRepairs(t *testing.T) {
	r := run(t, nil)
	var stats pprof.DecodeStats
	stats.Samples = 1
	fields := reflect.ValueOf(&stats.Repairs).Elem()
	require.Len(t, repairKinds, fields.NumField(), "each repair has a kind")
	for i := range fields.NumField() {
		fields.Field(i).SetInt(int64(i + 1))
	}
	newAPIMetrics(r.receiver.intake.metrics, "pprof").accepted(t.Context(), &stats)
	want := map[string]int64{}
	for i, repair := range repairKinds {
		want[repair.kind] = int64(i + 1)
	}
	metrictest.AssertPoints(t, r.telemetry, "otelcol_receiver_pprof_repairs", points("kind", want))
}

// TestRepairsOfPayloads: what was missing or wrong in a payload is counted.
func TestRepairsOfPayloads(t *testing.T) {
	recording := jfrtest.New()
	recording.Header = jfrtest.Header{StartNanos: 5e9, StartTicks: 7e9, TicksPerSecond: 1e9}
	recording.ExecutionSample(7e9, 0, 6, 0, jfrtest.Context{}) // Stack 6 does not exist.
	recording.ExecutionSample(7e9, 0, 6, 0, jfrtest.Context{})
	recording.ExecutionSample(1e9, 0, recording.Stack(false), 0, jfrtest.Context{}) // Before 1970.
	r := run(t, nil)
	for _, body := range [][]byte{append(plain(t, cpuProfile(1)), 0xf8, 0x07, 1), recording.Bytes()} { // Field 127, a varint.
		require.Equal(t, http.StatusNoContent, r.post(t, "/v1/pprof", body).status)
	}
	metrictest.AssertPoints(t, r.telemetry, "otelcol_receiver_pprof_repairs", points("kind", map[string]int64{"unknown_field": 1, "no_stack": 2, "invalid_time": 1}))
}

// TestMetadataFromResource holds that what the resource says comes to the next consumer as metadata, beside the tenant.
func TestMetadataFromResource(t *testing.T) {
	r := run(t, func(c *Config, _ *ServerConfig) { c.MetadataFromResource = []string{"service.name"} })
	got := r.post(t, "/v1/pprof?service.name=checkout", plain(t, cpuProfile(1)), tenantHeader, "acme")
	require.Equal(t, 204, got.status, got.text)
	metadata := client.FromContext(r.sink.ctx[0]).Metadata
	assert.Equal(t, []string{"checkout"}, metadata.Get("service.name"))
	assert.Equal(t, []string{"acme"}, metadata.Get(tenantHeader))
}
