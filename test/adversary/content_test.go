// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package adversary

import (
	"bytes"
	"encoding/base64"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protowire"
)

// content is a message as runs of bytes, so that one of many megabytes takes little memory here.
type content []run

// run is a unit that comes so many times. With each, the unit differs with its index, and is appended to a buffer.
type run struct {
	unit  []byte
	each  func(buffer []byte, i int) []byte
	times int
}

func literal(b []byte) content { return content{{unit: b, times: 1}} }

func text(s string) content { return literal([]byte(s)) }

func repeat(unit []byte, times int) content { return content{{unit: unit, times: times}} }

// filling repeats a unit until it takes so many bytes.
func filling(unit []byte, size int) content { return repeat(unit, size/len(unit)) }

// counting is units that differ.
func counting(times int, each func(buffer []byte, i int) []byte) content {
	return content{{each: each, times: times}}
}

func join(parts ...content) (all content) {
	for _, part := range parts {
		all = append(all, part...)
	}
	return all
}

func (r run) size() (n int) {
	if r.each == nil {
		return len(r.unit) * r.times
	}
	var buffer []byte
	for i := range r.times {
		buffer = r.each(buffer[:0], i)
		n += len(buffer)
	}
	return n
}

func (c content) size() (n int) {
	for _, r := range c {
		n += r.size()
	}
	return n
}

// chunkBytes is how much is written at a time.
const chunkBytes = 64 << 10

// writeTo writes to a writer that does not fail.
func (c content) writeTo(w io.Writer) {
	for _, r := range c {
		if r.each != nil {
			r.writeEach(w)
			continue
		}
		atOnce := max(1, min(r.times, chunkBytes/max(1, len(r.unit))))
		chunk := bytes.Repeat(r.unit, atOnce)
		for range r.times / atOnce {
			_, _ = w.Write(chunk)
		}
		_, _ = w.Write(chunk[:r.times%atOnce*len(r.unit)])
	}
}

func (r run) writeEach(w io.Writer) {
	buffer := make([]byte, 0, chunkBytes)
	for i := range r.times {
		if buffer = r.each(buffer, i); len(buffer) >= chunkBytes {
			_, _ = w.Write(buffer)
			buffer = buffer[:0]
		}
	}
	_, _ = w.Write(buffer)
}

// plain returns the bytes as they are.
func (c content) plain() []byte {
	var out bytes.Buffer
	c.writeTo(&out)
	return out.Bytes()
}

// field is a field of a protobuf message that holds bytes, a text or a message.
func field(number protowire.Number, parts ...content) content {
	value := join(parts...)
	head := protowire.AppendTag(nil, number, protowire.BytesType)
	return join(literal(protowire.AppendVarint(head, uint64(value.size()))), value)
}

func textField(number protowire.Number, s string) content { return field(number, text(s)) }

// number is a field that holds a varint.
func number(field protowire.Number, value uint64) content {
	return literal(appendNumber(nil, field, value))
}

func appendNumber(to []byte, field protowire.Number, value uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(to, field, protowire.VarintType), value)
}

// appendField appends a field of bytes, a text or a message, without the memory that field takes.
func appendField(to []byte, field protowire.Number, value []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(to, field, protowire.BytesType), value)
}

// empty is a field that holds an empty message.
func empty(number protowire.Number) []byte {
	return append(protowire.AppendTag(nil, number, protowire.BytesType), 0)
}

func gzipped(c content) []byte {
	var out bytes.Buffer
	writer := gzip.NewWriter(&out)
	c.writeTo(writer)
	_ = writer.Close() // A buffer takes everything.
	return out.Bytes()
}

func zstandard(c content, options ...zstd.EOption) []byte {
	var out bytes.Buffer
	writer, err := zstd.NewWriter(&out, append([]zstd.EOption{zstd.WithEncoderConcurrency(1)}, options...)...)
	if err != nil {
		panic(err)
	}
	c.writeTo(writer)
	_ = writer.Close()
	return out.Bytes()
}

func base64Text(b []byte) string { return base64.StdEncoding.EncodeToString(b) }

// backend takes every message of gRPC, and every request of HTTP/1. It does not read them: what is hostile to the gateway is hostile to a test.
type backend struct {
	// records says that what comes was in Kafka.
	records bool
	// through is the number of the last honest profile that came through Kafka.
	through atomic.Int64
	// away says that it takes nothing for now.
	away   atomic.Bool
	server *http.Server
}

// startBackend listens at an address until the test ends.
func startBackend(t *testing.T, address string, records bool) *backend {
	t.Helper()
	b := &backend{records: records}
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	b.server = &http.Server{Handler: http.HandlerFunc(b.serve), Protocols: protocols}
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", address)
	require.NoError(t, err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = b.server.Serve(listener)
	}()
	t.Cleanup(func() {
		b.server.Close()
		<-done
	})
	return b
}

func (b *backend) serve(w http.ResponseWriter, r *http.Request) {
	if b.records {
		b.look(r.Body)
	}
	_, _ = io.Copy(io.Discard, r.Body)
	w.Header().Set("Content-Type", "application/grpc")
	w.Header().Set("Trailer", "Grpc-Status")
	w.WriteHeader(http.StatusOK)
	if b.away.Load() {
		w.Header().Set("Grpc-Status", "14")
		return
	}
	_, _ = w.Write(grpcMessage(false, nil))
	w.Header().Set("Grpc-Status", "0")
}
