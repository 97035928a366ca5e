// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package upload

import (
	"bytes"
	"context"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/otelpprof/otelpprof/internal/memory/meter"
	"github.com/otelpprof/otelpprof/internal/testkit/elftest"
	"github.com/otelpprof/otelpprof/internal/testkit/must"
	"github.com/otelpprof/otelpprof/processor/profilesymbolizer/internal/source"
)

const (
	idA     = "aa0102030405060708090a0b0c0d0e0f10111213"
	idB     = "bb0102030405060708090a0b0c0d0e0f10111213"
	service = "/parca.debuginfo.v1alpha1.DebuginfoService/"
)

// room is how much longer than the largest file the body of a request may be.
const room = 4 << 20

// target is a server for uploads, and what it reports.
type target struct {
	files *source.Uploads
	url   string
	conn  *grpc.ClientConn

	mu      sync.Mutex
	results map[string]int
}

func newTarget(t *testing.T, stall, most time.Duration) *target {
	t.Helper()
	x := &target{results: map[string]int{}}
	x.files = &source.Uploads{
		Directory: t.TempDir(), MaxBytes: 64 << 20, MaxFileBytes: 16 << 20, Stored: func(string) {},
		Memory: func(context.Context) (*meter.Meter, func()) { return nil, func() {} },
	}
	handler := Handler(x.files, stall, most, func(result string, err error) {
		x.mu.Lock()
		defer x.mu.Unlock()
		assert.Equal(t, result == Stored, err == nil)
		x.results[result]++
	})
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.MaxBytesHandler(handler, x.files.MaxFileBytes+room).ServeHTTP(w, r)
	}))
	server.Config.HTTP2 = &http.HTTP2Config{MaxConcurrentStreams: 2 * maxRequests}
	server.Config.Protocols = &http.Protocols{}
	server.Config.Protocols.SetHTTP1(true)
	server.Config.Protocols.SetUnencryptedHTTP2(true)
	server.Start()
	t.Cleanup(server.Close)
	x.url = server.URL
	var err error
	x.conn, err = grpc.NewClient(server.Listener.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.ForceCodecV2(raw{})))
	require.NoError(t, err)
	t.Cleanup(func() { _ = x.conn.Close() })
	return x
}

func (x *target) counts() map[string]int {
	x.mu.Lock()
	defer x.mu.Unlock()
	return maps.Clone(x.results)
}

// raw sends and receives encoded messages.
type raw struct{}

func (raw) Name() string { return "proto" }

func (raw) Marshal(v any) (mem.BufferSlice, error) {
	return mem.BufferSlice{mem.SliceBuffer(v.([]byte))}, nil
}

func (raw) Unmarshal(data mem.BufferSlice, v any) error {
	*v.(*[]byte) = data.Materialize()
	return nil
}

// message encodes fields: number, value, number, value.
func message(fields ...any) (b []byte) {
	for i := 0; i < len(fields); i += 2 {
		number := protowire.Number(fields[i].(int))
		switch v := fields[i+1].(type) {
		case string:
			b = protowire.AppendString(protowire.AppendTag(b, number, protowire.BytesType), v)
		case []byte:
			b = protowire.AppendBytes(protowire.AppendTag(b, number, protowire.BytesType), v)
		case int:
			b = protowire.AppendVarint(protowire.AppendTag(b, number, protowire.VarintType), uint64(v))
		}
	}
	return b
}

// decode returns the fields of a message.
func decode(t *testing.T, b []byte) map[int]string {
	t.Helper()
	fields := map[int]string{}
	for len(b) > 0 {
		number, kind, n := protowire.ConsumeTag(b)
		require.Positive(t, n)
		b = b[n:]
		if kind == protowire.VarintType {
			v, n := protowire.ConsumeVarint(b)
			fields[int(number)], b = strconv.FormatUint(v, 10), b[n:]
		} else {
			v, n := protowire.ConsumeBytes(b)
			require.Positive(t, n)
			fields[int(number)], b = string(v), b[n:]
		}
	}
	return fields
}

func (x *target) call(t *testing.T, method string, request []byte) (map[int]string, error) {
	t.Helper()
	var response []byte
	if err := x.conn.Invoke(t.Context(), service+method, request, &response); err != nil {
		return nil, err
	}
	return decode(t, response), nil
}

// send calls Upload with these messages.
func (x *target) send(t *testing.T, messages [][]byte) (map[int]string, error) {
	t.Helper()
	stream := must.Get(x.conn.NewStream(t.Context(), &grpc.StreamDesc{ClientStreams: true}, service+"Upload"))(t)
	for _, m := range messages {
		if err := stream.SendMsg(m); err != nil {
			require.ErrorIs(t, err, io.EOF)
			break
		}
	}
	require.NoError(t, stream.CloseSend())
	var response []byte
	if err := stream.RecvMsg(&response); err != nil {
		return nil, err
	}
	return decode(t, response), nil
}

// uploadOf returns the messages of a file, in chunks of a size.
func uploadOf(buildID, uploadID string, file []byte, chunk int) [][]byte {
	messages := [][]byte{message(1, message(1, buildID, 2, uploadID, 3, 0))}
	for len(file) > 0 {
		n := min(chunk, len(file))
		messages = append(messages, message(2, file[:n]))
		file = file[n:]
	}
	return messages
}

// large returns a file with symbols and so many bytes.
func large(size int) []byte {
	return append(elftest.WithSymbols(idA, "a"), make([]byte, size)...)
}

// padding returns messages with chunks that have no bytes, with the length of the field in ten bytes.
func padding(size int) (messages [][]byte) {
	empty := []byte{0x12, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x00}
	for ; size > 0; size -= 1 << 20 {
		messages = append(messages, bytes.Repeat(empty, 1<<20/len(empty)+1))
	}
	return messages
}

// upload does what Parca's agent does: it asks, announces, sends in chunks of 8 MiB, and says that it has finished.
func (x *target) upload(t *testing.T, id string, file []byte) {
	t.Helper()
	should := must.Get(x.call(t, "ShouldInitiateUpload", message(1, id, 4, 0, 5, 1)))(t)
	require.Equal(t, "1", should[1], should[2])
	initiated := must.Get(x.call(t, "InitiateUpload", message(1, id, 2, len(file), 3, "hash", 5, 0, 6, 1)))(t)
	instructions := decode(t, []byte(initiated[1]))
	require.Equal(t, "1", instructions[3], "by gRPC")
	response := must.Get(x.send(t, uploadOf(instructions[1], instructions[2], file, 8<<20)))(t)
	assert.Equal(t, map[int]string{1: id, 2: strconv.Itoa(len(file))}, response)
	finished := must.Get(x.call(t, "MarkUploadFinished", message(1, id, 2, instructions[2])))(t)
	assert.Empty(t, finished)
}
