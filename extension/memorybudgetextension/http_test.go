// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package memorybudgetextension

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/plog/plogotlp"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	spb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/otelpprof/otelpprof/internal/memory"
	"github.com/otelpprof/otelpprof/internal/otlpstatus"
	"github.com/otelpprof/otelpprof/internal/testkit/budgettest"
	"github.com/otelpprof/otelpprof/internal/testkit/memorytest"
	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
)

const protoType, jsonType = otlpstatus.ProtoType, otlpstatus.JSONType

func zstded(t *testing.T, plain []byte) []byte {
	t.Helper()
	encoder, err := zstd.NewWriter(nil)
	require.NoError(t, err)
	defer encoder.Close()
	return encoder.EncodeAll(plain, nil)
}

func TestHTTP(t *testing.T) {
	var sink consumertest.LogsSink
	r := run(t, nil, &sink)
	request := records(10, 100)
	body := marshaled(t, request)
	asJSON, err := request.MarshalJSON()
	require.NoError(t, err)
	for i, test := range []struct {
		contentType, encoding string
		body                  []byte
	}{
		{protoType, "", body},
		{protoType, "gzip", profiletest.Gzip(t, body)},
		{protoType, "zstd", zstded(t, body)},
		{jsonType, "", asJSON},
		{jsonType + "; charset=utf-8", "gzip", profiletest.Gzip(t, asJSON)},
	} {
		answer := r.post(t, test.contentType, test.encoding, test.body)
		require.Equal(t, 200, answer.code, string(answer.body))
		require.Len(t, sink.AllLogs(), i+1)
		assert.Equal(t, 10, sink.AllLogs()[i].LogRecordCount())
	}
	r.requireFree(t)
}

// TestReservation: the context of the next consumer carries a reservation for the memory of the request.
func TestReservation(t *testing.T) {
	for name, client := range map[string]func(r *running) (post func(body []byte)){
		"HTTP": func(r *running) func(body []byte) {
			return func(body []byte) { require.Equal(t, 200, r.post(t, protoType, "", body).code) }
		},
		"gRPC": func(r *running) func(body []byte) {
			connection := r.dial(t)
			return func(body []byte) { require.NoError(t, send(t.Context(), connection, body, "zstd")) }
		},
	} {
		t.Run(name, func(t *testing.T) {
			var reserved int64
			next, err := consumer.NewLogs(func(ctx context.Context, _ plog.Logs) error {
				reserved = memory.FromContext(ctx).Bytes()
				return nil
			})
			require.NoError(t, err)
			r := run(t, nil, next)
			post := client(r)
			post(marshaled(t, records(1000, 10))) // What a connection keeps is not that of a request.
			memorytest.CheckHeld(t, memorytest.Most, 20, func() (plogotlp.ExportRequest, int64) {
				logs := records(1000, 10)
				post(marshaled(t, logs))
				return logs, reserved
			})
			runtime.KeepAlive(post)
			r.requireFree(t)
		})
	}
}

// nestedValue returns a log record whose body is a string within this many lists.
func nestedValue(levels int) []byte {
	logs := plog.NewLogs()
	value := logs.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty().LogRecords().AppendEmpty().Body()
	for range levels {
		value = value.SetEmptySlice().AppendEmpty()
	}
	value.SetStr("x")
	body, err := (&plog.ProtoMarshaler{}).MarshalLogs(logs)
	if err != nil {
		panic(err)
	}
	return body
}

func TestHTTPRefusals(t *testing.T) {
	r := run(t, map[string]any{"limit_mib": 32, "max_inflated_mib": 8, "wait": "10ms"}, consumertest.NewNop())
	deepJSON := []byte(`{"a":` + strings.Repeat("[", 1000) + strings.Repeat("]", 1000) + `}`)
	empty := bytes.Repeat([]byte{0x0a, 0}, 1<<20) // a million resources
	for name, test := range map[string]struct {
		contentType, encoding string
		body                  []byte
		code                  int
		status                codes.Code
		says                  string
	}{
		"malformed":  {protoType, "", []byte{0x0a}, 400, codes.InvalidArgument, "malformed"},
		"deep":       {protoType, "", nestedValue(33), 400, codes.InvalidArgument, "nested too deep: more than 32 lists"},
		"deep JSON":  {jsonType, "", deepJSON, 400, codes.InvalidArgument, "nested too deep"},
		"not UTF-8":  {jsonType, "", []byte("{\"resourceLogs\": \"é\xff\"}"), 400, codes.InvalidArgument, "byte 20 is not UTF-8"},
		"expensive":  {protoType, "", empty, 413, codes.ResourceExhausted, "a request may have 29360128"},
		"bomb":       {protoType, "gzip", profiletest.Gzip(t, make([]byte, 9<<20)), 413, codes.ResourceExhausted, "more than 8388608 bytes"},
		"zstd bomb":  {protoType, "zstd", zstded(t, make([]byte, 9<<20)), 413, codes.ResourceExhausted, "more than 8388608 bytes"},
		"corrupt":    {protoType, "gzip", []byte("\x1f\x8bno"), 400, codes.InvalidArgument, "cannot inflate gzip"},
		"encoding":   {jsonType, "lz4", []byte("{}"), 400, codes.InvalidArgument, `unsupported Content-Encoding "lz4"`},
		"large body": {protoType, "", make([]byte, 29<<20), 413, codes.ResourceExhausted, "a request may have 29360128"},
	} {
		answer := r.post(t, test.contentType, test.encoding, test.body)
		require.Equal(t, test.code, answer.code, "%s: %s", name, answer.body)
		assert.Equal(t, test.contentType, answer.Get("Content-Type"), name)
		var status spb.Status
		if test.contentType == jsonType {
			require.NoError(t, protojson.Unmarshal(answer.body, &status), name)
		} else {
			require.NoError(t, proto.Unmarshal(answer.body, &status), name)
		}
		assert.Equal(t, int32(test.status), status.Code, name)
		assert.Contains(t, status.Message, test.says, name)
	}
	r.requireFree(t)
	for reason, count := range map[string]int64{"malformed": 4, "too_deep": 2, "too_large": 4} {
		assert.Equal(t, count, r.refusals(t, reason), reason)
	}
}

// TestExhausted: a request gets a retryable error while others hold the whole budget.
func TestExhausted(t *testing.T) {
	r := run(t, map[string]any{"limit_mib": 32, "wait": "10ms"}, consumertest.NewNop())
	connection, body := r.dial(t), marshaled(t, records(1, 1))
	all := budgettest.Hold(t, r.budget, r.budget.Size())
	answer := r.post(t, protoType, "", body)
	assert.Equal(t, 503, answer.code)
	assert.Equal(t, "1", answer.Get("Retry-After"))
	for _, compression := range []string{"", "gzip"} {
		found := status.Convert(send(t.Context(), connection, body, compression))
		require.Equal(t, codes.Unavailable, found.Code(), found.Message())
		require.Len(t, found.Details(), 1)
		assert.Equal(t, retryAfter, found.Details()[0].(*errdetails.RetryInfo).RetryDelay.AsDuration())
	}
	all.Release()
	assert.Equal(t, 200, r.post(t, protoType, "", body).code)
	require.NoError(t, send(t.Context(), connection, body, ""))
	r.requireFree(t)
}

// stall opens a connection, announces a body of 16 MiB, sends only sends bytes of it, and waits.
func stall(t *testing.T, address string, sends int) net.Conn {
	t.Helper()
	connection := dialRaw(t, address, fmt.Sprintf("POST /v1/logs HTTP/1.1\r\nHost: h\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n", protoType, 16<<20))
	_, _ = connection.Write(make([]byte, sends)) // The server may have closed the connection.
	return connection
}

// TestHTTPStalled: 64 clients that send 2 MiB and then stop neither block other requests nor exceed the limit of arriving
// requests.
func TestHTTPStalled(t *testing.T) {
	r := run(t, map[string]any{"limit_mib": 64}, consumertest.NewNop())
	var group sync.WaitGroup
	for range 64 {
		group.Go(func() { stall(t, r.http, 2<<20) })
	}
	group.Wait()
	begin := time.Now()
	for range 10 {
		answer := r.post(t, protoType, "gzip", profiletest.Gzip(t, marshaled(t, records(1000, 1000))))
		require.Equal(t, 200, answer.code, string(answer.body))
	}
	assert.Less(t, time.Since(begin), memorytest.Slowdown*5*time.Second)
	_, peak := r.budget.Used()
	assert.LessOrEqual(t, peak, r.budget.Size())
	assert.Eventually(t, func() bool { return r.refusals(t, "exhausted") > 0 }, memorytest.Slowdown*5*time.Second, time.Millisecond)
}

func TestHTTPTooSlow(t *testing.T) {
	r := run(t, map[string]any{"receive_timeout": "50ms"}, consumertest.NewNop())
	connection := stall(t, r.http, 1000)
	answer := make([]byte, 12)
	_, err := io.ReadFull(connection, answer)
	require.NoError(t, err)
	assert.Equal(t, "HTTP/1.1 503", string(answer))
	assert.Equal(t, int64(1), r.refusals(t, "too_slow"))
	r.requireFree(t)
}

// refusals reads the counter.
func (r *running) refusals(t *testing.T, reason string) int64 {
	t.Helper()
	metric, err := r.telemetry.GetMetric("otelcol_extension_memory_budget_refusals")
	if err != nil {
		return 0 // Nothing was refused.
	}
	return sumOf(metric, reason)
}

// TestHTTPLargeBody: the answer for a body above the limit says so, and nothing else.
func TestHTTPLargeBody(t *testing.T) {
	r := run(t, map[string]any{"limit_mib": 8, "max_inflated_mib": 1}, consumertest.NewNop())
	answer := r.post(t, protoType, "", make([]byte, 9<<20))
	assert.Equal(t, 413, answer.code)
	assert.Contains(t, string(answer.body), "its body needs")
	assert.NotContains(t, string(answer.body), errAborted.Error())
	r.requireFree(t)
}

// TestHTTPAborted: a client that leaves in the middle of its body is counted as such.
func TestHTTPAborted(t *testing.T) {
	r := run(t, nil, consumertest.NewNop())
	require.NoError(t, stall(t, r.http, 1000).Close())
	require.Eventually(t, func() bool { return r.refusals(t, "aborted") == 1 }, time.Minute, 10*time.Millisecond)
	assert.Zero(t, r.refusals(t, "malformed"))
	r.requireFree(t)
}
