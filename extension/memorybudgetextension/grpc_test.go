// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package memorybudgetextension

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"net"
	"net/http"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/plog/plogotlp"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"

	"github.com/otelpprof/otelpprof/internal/memory"
	"github.com/otelpprof/otelpprof/internal/testkit/memorytest"
	"github.com/otelpprof/otelpprof/internal/testkit/must"
)

const exportLogs = "/opentelemetry.proto.collector.logs.v1.LogsService/Export"

// rawCodec sends bytes as they are, and ignores answers.
type rawCodec struct{}

func (rawCodec) Marshal(v any) (mem.BufferSlice, error) {
	return mem.BufferSlice{mem.SliceBuffer(v.([]byte))}, nil
}
func (rawCodec) Unmarshal(mem.BufferSlice, any) error { return nil }
func (rawCodec) Name() string                         { return "proto" }

// send sends a message as it is.
func send(ctx context.Context, connection *grpc.ClientConn, body []byte, compression string) error {
	options := []grpc.CallOption{grpc.ForceCodecV2(rawCodec{})}
	if compression != "" {
		options = append(options, grpc.UseCompressor(compression))
	}
	var answer []byte
	return connection.Invoke(ctx, exportLogs, body, &answer, options...)
}

func TestGRPC(t *testing.T) {
	var sink consumertest.LogsSink
	r := run(t, nil, &sink)
	connection := r.dial(t)
	taken := 0
	for _, compression := range []string{"", "gzip", "zstd", "snappy"} {
		for _, size := range []int{1, 100, 100_000} {
			var options []grpc.CallOption
			if compression != "" {
				options = append(options, grpc.UseCompressor(compression))
			}
			_, err := plogotlp.NewGRPCClient(connection).Export(t.Context(), records(10, size), options...)
			require.NoError(t, err, "%s %d", compression, size)
			taken++
			require.Len(t, sink.AllLogs(), taken)
			got := sink.AllLogs()[taken-1]
			assert.Equal(t, 10, got.LogRecordCount())
			assert.Len(t, got.ResourceLogs().At(0).ScopeLogs().At(0).LogRecords().At(9).Body().Str(), size)
		}
	}
	r.requireFree(t)
}

func TestGRPCRefusals(t *testing.T) {
	r := run(t, map[string]any{"limit_mib": 32, "max_inflated_mib": 8, "wait": "10ms"}, consumertest.NewNop())
	connection := r.dial(t)
	empty := bytes.Repeat([]byte{0x0a, 0}, 1<<20) // a million resources
	for name, test := range map[string]struct {
		compression string
		body        []byte
		code        codes.Code
		says        string
	}{
		"malformed":         {"", []byte{0x0a}, codes.InvalidArgument, "malformed"},
		"malformed inside":  {"", []byte{0x0a, 4, 0x12, 2, 0x0a, 1}, codes.InvalidArgument, "malformed"},
		"wrong for pdata":   {"", []byte{0x0a, 6, 0x12, 4, 0x12, 2, 0x08, 1}, codes.InvalidArgument, "malformed"},
		"deep":              {"", nestedValue(33), codes.InvalidArgument, "nested too deep: more than 32 lists"},
		"deep, compressed":  {"gzip", nestedValue(33), codes.InvalidArgument, "nested too deep"},
		"expensive":         {"", empty, codes.ResourceExhausted, "a request may have 29360128"},
		"expensive in zstd": {"zstd", empty, codes.ResourceExhausted, "a request may have 29360128"},
		"gzip bomb":         {"gzip", make([]byte, 9<<20), codes.ResourceExhausted, "more than 8388608 bytes"},
		"zstd bomb":         {"zstd", make([]byte, 9<<20), codes.ResourceExhausted, "more than 8388608 bytes"},
		"snappy bomb":       {"snappy", make([]byte, 9<<20), codes.ResourceExhausted, "more than 8388608 bytes"},
	} {
		err := send(t.Context(), connection, test.body, test.compression)
		found := status.Convert(err)
		require.Equal(t, test.code, found.Code(), "%s: %s", name, found.Message())
		assert.Contains(t, found.Message(), test.says, name)
		assert.Empty(t, found.Details(), name)
	}
	r.requireFree(t)
	for reason, count := range map[string]int64{"malformed": 3, "too_deep": 2, "too_large": 5} {
		assert.Equal(t, count, r.refusals(t, reason), reason)
	}
}

// TestGRPCAtOnce sends 64 decompression bombs of each format at once. Each waits for memory, and gets a retryable error if it
// waits too long.
func TestGRPCAtOnce(t *testing.T) {
	const limit, senders = 32, 64
	r := run(t, map[string]any{"limit_mib": limit}, consumertest.NewNop())
	resources := bytes.Repeat([]byte{0x0a, 0}, 32<<10) // 5 MiB
	text := marshaled(t, records(1, 4<<20))
	var group sync.WaitGroup
	var answered atomic.Int64
	compressions := []string{"gzip", "zstd", "snappy"}
	for _, compression := range compressions {
		for i := range senders {
			group.Go(func() {
				body := resources
				if i%2 == 0 {
					body = text
				}
				connection, closes := r.connect(t)
				defer closes() // Until then, the server holds the buffer of the last frame.
				err := send(t.Context(), connection, body, compression)
				if err == nil {
					answered.Add(1)
					return
				}
				assert.Contains(t, []codes.Code{codes.Unavailable, codes.Canceled}, status.Code(err), err)
			})
		}
	}
	group.Wait()
	calls := int64(len(compressions) * senders)
	t.Logf("%d of %d were accepted", answered.Load(), calls)
	_, peak := r.budget.Used()
	assert.LessOrEqual(t, peak, r.budget.Size()+calls*(requestBytes+compressedBytes), "neither streams nor copies of compressed messages wait")
	assert.NotZero(t, answered.Load())
	r.requireFree(t)
}

// TestGRPCFlood: messages that have arrived and wait for memory do not exceed it, and do not keep a small request waiting. The next consumer is slow.
func TestGRPCFlood(t *testing.T) {
	next := must.Get(consumer.NewLogs(func(context.Context, plog.Logs) error {
		time.Sleep(time.Second)
		return nil
	}))(t)
	r := run(t, map[string]any{"limit_mib": 64}, next)
	large, small := marshaled(t, records(1, 6<<20)), marshaled(t, records(1, 10))
	ctx, stop := context.WithCancel(t.Context())
	var group sync.WaitGroup
	for range 40 {
		group.Go(func() {
			connection, closes := r.connect(t)
			defer closes()
			for ctx.Err() == nil {
				_ = send(ctx, connection, large, "") // Most are refused.
			}
		})
	}
	for range 3 {
		time.Sleep(500 * time.Millisecond)
		begin := time.Now()
		for r.post(t, "application/x-protobuf", "", small).code != http.StatusOK {
			time.Sleep(100 * time.Millisecond)
		}
		assert.Less(t, time.Since(begin), memorytest.Slowdown*5*time.Second)
	}
	stop()
	group.Wait()
	_, peak := r.budget.Used()
	assert.LessOrEqual(t, peak, r.budget.Size()+r.budget.Size()/arrivingPart)
	r.requireFree(t)
}

// TestGRPCWaitsTogether: calls of one connection do not wait for memory one after the other.
func TestGRPCWaitsTogether(t *testing.T) {
	r := run(t, map[string]any{"limit_mib": 32}, consumertest.NewNop())
	others := r.budget.Begin()
	others.Add(r.budget.Size())
	connection := r.dial(t)
	body := marshaled(t, records(10, 1000))
	begin := time.Now()
	var group sync.WaitGroup
	for range 16 {
		group.Go(func() { assert.Equal(t, codes.Unavailable, status.Code(send(t.Context(), connection, body, ""))) })
	}
	group.Wait()
	assert.Less(t, time.Since(begin), memorytest.Slowdown*3*r.config.Wait)
	others.Release()
	r.requireFree(t)
}

// TestGRPCShareOfArriving: a message that has arrived is not in the share of those that arrive, until its answer and after it.
func TestGRPCShareOfArriving(t *testing.T) {
	working, answer := make(chan struct{}), make(chan struct{})
	next := must.Get(consumer.NewLogs(func(context.Context, plog.Logs) error {
		working <- struct{}{}
		<-answer
		return nil
	}))(t)
	r := run(t, nil, next)
	body := marshaled(t, records(2, 1<<20))
	var group sync.WaitGroup
	for range 4 {
		connection := r.dial(t)
		group.Go(func() { assert.NoError(t, send(t.Context(), connection, body, "")) })
		<-working
	}
	arriving := &r.memoryBudget.grpc.pool.arriving
	require.Eventually(t, func() bool { return arriving.Used() == 0 }, memorytest.Slowdown*10*time.Second, time.Millisecond)
	close(answer)
	group.Wait()
	require.Eventually(t, func() bool { return arriving.Used() == 0 }, memorytest.Slowdown*10*time.Second, time.Millisecond)
	r.requireFree(t)
}

// rawStream opens a stream and sends only sends bytes of its message, in frames of frame bytes.
func rawStream(t *testing.T, address string, sends, frame int) {
	t.Helper()
	prefix := make([]byte, 5)
	binary.BigEndian.PutUint32(prefix[1:], 15<<20)
	_, framer := rawHeader(t, address)
	require.NoError(t, framer.WriteData(1, false, prefix))
	time.Sleep(50 * time.Millisecond) // until the server has enlarged the window for the message
	data := make([]byte, frame)
	for sent := 0; sent < sends; sent += frame {
		if framer.WriteData(1, false, data) != nil {
			break // The server may have closed the stream.
		}
	}
}

// rawHeader opens a stream and sends its header.
func rawHeader(t *testing.T, address string) (net.Conn, *http2.Framer) {
	t.Helper()
	connection := dialRaw(t, address, http2.ClientPreface)
	framer := http2.NewFramer(connection, connection)
	require.NoError(t, framer.WriteSettings())
	require.NoError(t, writeHeader(framer, 1))
	go func() { _, _ = io.Copy(io.Discard, connection) }() // The windows are wide enough.
	return connection, framer
}

// writeHeader opens a stream.
func writeHeader(framer *http2.Framer, stream uint32) error {
	var headers bytes.Buffer
	encoder := hpack.NewEncoder(&headers)
	for _, field := range [][2]string{
		{":method", "POST"},
		{":scheme", "http"},
		{":path", exportLogs},
		{":authority", "h"},
		{"content-type", "application/grpc"},
		{"te", "trailers"},
	} {
		_ = encoder.WriteField(hpack.HeaderField{Name: field[0], Value: field[1]}) // to memory
	}
	return framer.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: headers.Bytes(), EndHeaders: true})
}

// TestGRPCUnreadBuffers: gRPC does not put back what has arrived behind an error, but it does not count for ever.
func TestGRPCUnreadBuffers(t *testing.T) {
	r := run(t, nil, consumertest.NewNop())
	data := make([]byte, 16<<10)
	binary.BigEndian.PutUint32(data[1:], math.MaxUint32)
	for range 8 {
		connection, framer := rawHeader(t, r.grpc)
		require.NoError(t, framer.WriteData(1, false, data))
		require.Eventually(t, func() bool {
			used, _ := r.budget.Used()
			return used >= int64(len(data)) && r.budget.Arriving() == 0
		}, memorytest.Slowdown*10*time.Second, time.Millisecond, "the stream has ended")
		require.NoError(t, connection.Close())
	}
	r.requireFree(t)
}

// TestGRPCCopies: the copy of a compressed message that has arrived waits neither for the frames of such messages nor for the budget.
func TestGRPCCopies(t *testing.T) {
	p := newBufferPool(memory.New(4<<20, time.Minute))
	p.arriving.Use(4 << 20)
	begin := time.Now()
	var copies []*[]byte
	for range 200 {
		copies = append(copies, p.Get(32<<10))
	}
	assert.Less(t, time.Since(begin), memorytest.Slowdown*10*time.Second, "200 seconds if each waits")
	used, _ := p.budget.Used()
	assert.EqualValues(t, 200*compressedBytes, used)
	for _, buffer := range copies {
		p.Put(buffer)
	}
	used, _ = p.budget.Used()
	assert.Zero(t, used)
	assert.EqualValues(t, 4<<20, p.arriving.Used())
}

// TestGRPCStalled: 64 streams that send 2 MiB and then stop neither block other requests nor exceed the limit of arriving
// requests.
func TestGRPCStalled(t *testing.T) {
	for name, frame := range map[string]int{"large frames": 16 << 10, "small frames": 1100} {
		t.Run(name, func(t *testing.T) {
			r := run(t, map[string]any{"limit_mib": 64}, consumertest.NewNop())
			var group sync.WaitGroup
			for range 64 {
				group.Go(func() { rawStream(t, r.grpc, min(2<<20, 1000*frame), frame) })
			}
			group.Wait()
			begin := time.Now()
			connection := r.dial(t)
			for range 10 {
				ctx, cancel := context.WithTimeout(t.Context(), memorytest.Slowdown*5*time.Second)
				require.NoError(t, retry(ctx, connection, marshaled(t, records(1000, 1000))))
				cancel()
			}
			assert.Less(t, time.Since(begin), memorytest.Slowdown*10*time.Second)
			_, peak := r.budget.Used()
			assert.LessOrEqual(t, peak, r.budget.Size()+8<<20)
			assert.NotZero(t, r.refusals(t, "exhausted"))
		})
	}
}

// retry sends until the server accepts, as OTLP clients do.
func retry(ctx context.Context, connection *grpc.ClientConn, body []byte) error {
	for {
		err := send(ctx, connection, body, "")
		code := status.Code(err)
		if code != codes.Unavailable && code != codes.Canceled || ctx.Err() != nil {
			return errors.Join(err, ctx.Err())
		}
		time.Sleep(100 * time.Millisecond)
	}
}

func TestGRPCTooSlow(t *testing.T) {
	r := run(t, map[string]any{"receive_timeout": "100ms"}, consumertest.NewNop())
	rawStream(t, r.grpc, 100<<10, 10<<10)
	require.Eventually(t, func() bool { return r.refusals(t, "too_slow") == 1 }, time.Minute, 10*time.Millisecond)
	require.Eventually(t, func() bool {
		runtime.GC() // frees the buffers that gRPC did not put back
		used, _ := r.budget.Used()
		return used == 0
	}, time.Minute, 10*time.Millisecond)
}
