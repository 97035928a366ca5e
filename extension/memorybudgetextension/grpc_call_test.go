// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package memorybudgetextension

import (
	"bytes"
	"context"
	"encoding/binary"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"golang.org/x/net/http2"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"

	"github.com/otelpprof/otelpprof/internal/connections"
	"github.com/otelpprof/otelpprof/internal/memory"
	"github.com/otelpprof/otelpprof/internal/testkit/memorytest"
	"github.com/otelpprof/otelpprof/internal/testkit/must"
	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
	"github.com/otelpprof/otelpprof/internal/wire/inflate"
	"github.com/otelpprof/otelpprof/internal/wire/otlpwire"
)

// TestGRPCEndsAfterMessage: the memory of a message is free after its stream has ended without a call of the receiver.
func TestGRPCEndsAfterMessage(t *testing.T) {
	body := marshaled(t, records(10_000, 100))
	for name, messages := range map[string]int{"reset": 1, "two messages": 2} {
		t.Run(name, func(t *testing.T) {
			var sink consumertest.LogsSink
			r := run(t, nil, &sink)
			connection, closes := r.connect(t)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			stream, err := connection.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true}, exportLogs, grpc.ForceCodecV2(rawCodec{}))
			require.NoError(t, err)
			for range messages {
				require.NoError(t, stream.SendMsg(body))
			}
			if messages == 1 {
				counted := must.Get(otlpwire.Count(otlpwire.Logs, body))(t)
				require.Eventually(t, func() bool {
					used, _ := r.budget.Used()
					return used >= memory.MessageFactor*counted
				}, memorytest.Slowdown*10*time.Second, time.Millisecond, "it is unmarshaled")
				cancel()
			}
			var answer []byte
			err = stream.RecvMsg(&answer)
			assert.Contains(t, []codes.Code{codes.Canceled, codes.Internal}, status.Code(err), err)
			closes()
			assert.Empty(t, sink.AllLogs())
			r.requireFree(t)
			r.memoryBudget.grpc.admissions.Range(func(any, any) bool {
				t.Error("a message is kept")
				return false
			})
		})
	}
}

// TestGRPCOpenStreams: clients that open streams and never end them do not block others, whether or not their message has arrived, or a part of
// another.
func TestGRPCOpenStreams(t *testing.T) {
	const (
		calls = 4
		limit = 4 * time.Second // Any request that arrives is ended after 5 seconds, if others wait.
	)
	message := marshaled(t, records(1, 60<<10))
	for name, test := range map[string]struct {
		connections, streams int
		message              []byte
		another              int
		peak                 int64
	}{
		"no message":                    {connections: 32, streams: 64, peak: 2 << 20},
		"message":                       {connections: 8, streams: 64, message: message, peak: 2 << 20},
		"message and a part of another": {connections: 64, streams: 1, message: message, another: 2 << 20, peak: 7 << 20},
	} {
		t.Run(name, func(t *testing.T) {
			var sink consumertest.LogsSink
			r := run(t, map[string]any{"limit_mib": 32}, &sink)
			for range test.connections {
				dialStreams(t, r.grpc, test.streams, test.message, test.another)
			}
			require.Eventually(t, func() bool {
				_, peak := r.budget.Used()
				return peak > test.peak
			}, memorytest.Slowdown*10*time.Second, time.Millisecond, "the streams have begun")
			connection, body := r.dial(t), marshaled(t, records(100, 1000))
			for range 5 {
				ctx, cancel := context.WithTimeout(t.Context(), memorytest.Slowdown*limit)
				var group sync.WaitGroup
				for range calls {
					group.Go(func() { assert.NoError(t, retry(ctx, connection, body)) })
				}
				group.Wait()
				cancel()
				require.Equal(t, http.StatusOK, r.post(t, protoType, "", body).code)
			}
			assert.Len(t, sink.AllLogs(), 5*(calls+1))
		})
	}
}

// TestGRPCWhileStopping: a new stream is refused, so that a shutdown does not wait for all that a client has sent.
func TestGRPCWhileStopping(t *testing.T) {
	r := run(t, nil, consumertest.NewNop())
	connection, body := r.dial(t), marshaled(t, records(1, 1))
	require.NoError(t, send(t.Context(), connection, body, ""))
	require.NoError(t, r.NotReady())
	err := send(t.Context(), connection, body, "")
	assert.Equal(t, codes.Unavailable, status.Code(err), "%v", err)
	assert.EqualValues(t, 1, r.refusals(t, "too_slow"))
}

// dialStreams opens a connection with so many streams. Each sends its message, unless it is nil, and so many bytes of another, but does not
// end.
func dialStreams(t *testing.T, address string, streams int, message []byte, another int) {
	t.Helper()
	_, framer := rawHeader(t, address)
	go func() {
		for id := range uint32(streams) {
			if id > 0 && writeHeader(framer, 2*id+1) != nil {
				return // The server may have closed the connection.
			}
			if message != nil && writeMessage(framer, 2*id+1, len(message), message) != nil {
				return
			}
			if another > 0 && writeMessage(framer, 2*id+1, 15<<20, make([]byte, another)) != nil {
				return
			}
		}
	}()
}

// writeMessage sends the prefix of a message of size bytes, and data of it.
func writeMessage(framer *http2.Framer, stream uint32, size int, data []byte) error {
	if err := framer.WriteData(stream, false, binary.BigEndian.AppendUint32([]byte{0}, uint32(size))); err != nil {
		return err
	}
	if size > streamWindow {
		time.Sleep(50 * time.Millisecond) // until the server has enlarged the window for it
	}
	for part := range slices.Chunk(data, 16<<10) {
		if err := framer.WriteData(stream, false, part); err != nil {
			return err
		}
	}
	return nil
}

// TestCompress: messages that are compressed at a time and one after the other are whole, and have the size of level 1.
func TestCompress(t *testing.T) {
	payload := must.Get(os.ReadFile("../../testdata/pprof/cpu.pb.gz"))(t)
	message := profiletest.Inflate(t, payload)
	var fastGzip bytes.Buffer
	w := must.Get(gzip.NewWriterLevel(&fastGzip, 1))(t)
	_, _ = w.Write(message)
	require.NoError(t, w.Close())
	e := must.Get(zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.EncoderLevelFromZstd(1))))(t)
	for name, want := range map[string]int{"gzip": fastGzip.Len(), "zstd": len(e.EncodeAll(message, nil))} {
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				for range 4 {
					var compressed bytes.Buffer
					w, err := encoding.GetCompressor(name).Compress(&compressed)
					if !assert.NoError(t, err) {
						return
					}
					_, _ = w.Write(message[:1000])
					_, _ = w.Write(message[1000:])
					assert.NoError(t, w.Close())
					assert.InEpsilon(t, want, compressed.Len(), 0.01, name)
					plain, _, err := inflate.Into(nil, compressed.Bytes(), 1<<20, nil)
					assert.NoError(t, err)
					assert.True(t, bytes.Equal(message, plain), name)
				}
			})
		}
		all.Wait()
	}
}

// TestGRPCHeaders: a stream with too many fields in its header, or too many bytes, is refused. Each repetition of a field costs a byte
// on the wire.
func TestGRPCHeaders(t *testing.T) {
	r := run(t, map[string]any{"limit_mib": 32}, consumertest.NewNop())
	body := marshaled(t, records(1, 1))
	with := func(fields int, value string) context.Context {
		return metadata.NewOutgoingContext(t.Context(), metadata.MD{"a": slices.Repeat([]string{value}, fields)})
	}
	require.NoError(t, send(with(connections.MaxFields-20, ""), r.dial(t), body, ""))
	require.NoError(t, send(with(1, strings.Repeat("a", connections.MaxHeaderBytes-1<<10)), r.dial(t), body, ""))

	err := send(with(connections.MaxFields, ""), r.dial(t), body, "")
	assert.Equal(t, codes.ResourceExhausted, status.Code(err), "%v", err)
	assert.ErrorContains(t, err, "the limit is 128")
	require.Error(t, send(with(1, strings.Repeat("a", connections.MaxHeaderBytes)), r.dial(t), body, ""))
	r.requireFree(t)
}

// longer is a time that no test waits for: a shutdown that waits for a stalled client takes longer.
const longer = time.Hour

// TestShutdownWithStalledClients: no client that stops sending keeps the receiver from shutting down.
func TestShutdownWithStalledClients(t *testing.T) {
	const post = "POST /v1/logs HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n"
	for name, stalled := range map[string]struct {
		grpc bool
		text string
	}{
		"other media type":       {text: post + "Content-Type: text/plain\r\n\r\n"},
		"protobuf":               {text: post + "Content-Type: application/x-protobuf\r\n\r\nabc"},
		"no media type":          {text: post + "\r\n"},
		"GET":                    {text: "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n"},
		"chunks":                 {text: "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab"},
		"version":                {text: post + "Content-Type: application/json\r\notlp-profiles-development-version: 9\r\n\r\n"},
		"gRPC without a preface": {grpc: true, text: http2.ClientPreface[:5]},
		"gRPC headers":           {grpc: true},
	} {
		t.Run(name, func(t *testing.T) {
			r := run(t, map[string]any{"receive_timeout": longer.String()}, consumertest.NewNop())
			require.NoError(t, r.Ready())
			switch {
			case !stalled.grpc:
				dialRaw(t, r.http, stalled.text)
			case stalled.text != "":
				dialRaw(t, r.grpc, stalled.text)
			default:
				rawStream(t, r.grpc, 1, 1)
			}
			// Others are served. By then the server has seen the stalled one.
			body := marshaled(t, records(1, 1))
			require.Equal(t, http.StatusOK, r.post(t, protoType, "", body).code)
			require.NoError(t, send(t.Context(), r.dial(t), body, ""))
			require.NoError(t, r.NotReady())
			shutDown := make(chan error, 1)
			go func() { shutDown <- r.receiver.Shutdown(context.Background()) }()
			select {
			case err := <-shutDown:
				require.NoError(t, err)
			case <-time.After(memorytest.Slowdown * 20 * time.Second):
				t.Fatal("the receiver waits for the client")
			}
		})
	}
}

// ExportLogsServiceRequest has the name of a message of OTLP.
type ExportLogsServiceRequest struct{}

// unmarshaling is a codec that counts the messages that it unmarshals.
type unmarshaling struct {
	encoding.CodecV2
	messages int
}

func (u *unmarshaling) Unmarshal(mem.BufferSlice, any) error { u.messages++; return nil }

// TestGRPCPooledMessages: with pdata.useProtoPooling, a message is used for the next call as soon as it was consumed, before its own call has ended.
func TestGRPCPooledMessages(t *testing.T) {
	r := run(t, nil, consumertest.NewNop())
	codec := &unmarshaling{}
	s := &grpcServer{CodecV2: codec, memoryBudget: r.memoryBudget, pool: newBufferPool(r.budget)}
	message, data := &ExportLogsServiceRequest{}, mem.BufferSlice{mem.SliceBuffer(marshaled(t, records(1, 1)))}
	begin := func(ctx context.Context) context.Context {
		request := s.budget.ArriveCounted(&s.pool.requests, requestBytes, func() {})
		ctx = context.WithValue(ctx, callKey{}, &call{arrival: request})
		require.NoError(t, s.Unmarshal(data, message))
		s.HandleRPC(ctx, &stats.InPayload{Payload: message})
		request.Release()
		return ctx
	}
	first := begin(t.Context())
	_, err := s.admitted(first, message, nil, func(ctx context.Context, _ any) (any, error) {
		second := begin(ctx)
		assert.Equal(t, 2, codec.messages)
		_, err := s.admitted(second, message, nil, func(ctx context.Context, _ any) (any, error) {
			assert.Positive(t, memory.FromContext(ctx).Bytes())
			return nil, nil
		})
		require.NoError(t, err)
		s.HandleRPC(second, &stats.End{})
		return nil, nil
	})
	require.NoError(t, err)
	s.HandleRPC(first, &stats.End{})
	used, _ := r.budget.Used()
	assert.Zero(t, used)
}
