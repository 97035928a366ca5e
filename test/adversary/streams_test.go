// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package adversary

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"net"
	"sync"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// openStreams are streams of HTTP/2 that never end, with no message, with a whole one, or with most of one in many small frames. gRPC does not
// take the memory of a frame of at most 1024 bytes from its pool.
func openStreams() []body {
	return []body{
		{name: "open-streams-of-pprof", to: pprofServer, alone: true, attack: served(keepOpen(pprofServer, 4, streams(httpFields("/v1/pprof"), 0, nil)))},
		{name: "open-streams-of-grpc", to: ownGRPC, alone: true, attack: served(keepOpen(ownGRPC, 4, streams(grpcFields, 0, nil)))},
		{name: "open-messages-of-grpc", to: ownGRPC, alone: true, attack: served(keepOpen(ownGRPC, 1, streams(grpcFields, 0, grpcMessage(false, openMessage()))))},
		{name: "small-frames-of-grpc", to: ownGRPC, alone: true, times: smallFrameSenders, attack: served(smallFrames(1024))},
		{name: "smallest-frames-of-grpc", to: ownGRPC, alone: true, times: smallFrameSenders, attack: served(smallFrames(1))},
	}
}

// smallFrameSenders send more than a container of 512 MiB has beside the rest. Of many more, which send faster than garbage is collected, some exceed it
// now and then.
const smallFrameSenders = 24

// openMessage fits into the window of a connection as often as there are streams.
func openMessage() []byte { return field(2, filling(textField(5, "").plain(), 12<<10)).plain() }

// streams are a connection with as many streams as the configurations allow. Each has the same field so many times, and then sends a message,
// unless it is nil.
func streams(header []hpack.HeaderField, fields int, message []byte) []byte {
	var out, block bytes.Buffer
	out.WriteString(http2.ClientPreface)
	framer := http2.NewFramer(&out, nil)
	encoder := hpack.NewEncoder(&block)
	_ = framer.WriteSettings() // All is written to memory.
	for i := range uint32(64) {
		block.Reset()
		for _, field := range header {
			_ = encoder.WriteField(field)
		}
		for range fields {
			_ = encoder.WriteField(hpack.HeaderField{Name: "a"})
		}
		_ = framer.WriteHeaders(http2.HeadersFrameParam{StreamID: 2*i + 1, BlockFragment: block.Bytes(), EndHeaders: true})
		if message != nil {
			_ = framer.WriteData(2*i+1, false, message)
		}
	}
	return out.Bytes()
}

// httpFields are those of a request over HTTP.
func httpFields(path string) []hpack.HeaderField {
	return []hpack.HeaderField{
		{Name: ":method", Value: "POST"},
		{Name: ":scheme", Value: "http"},
		{Name: ":authority", Value: "a"},
		{Name: ":path", Value: path},
		{Name: "content-type", Value: "application/x-protobuf"},
	}
}

// keepOpen opens so many connections for each time, with all of these streams. They stay open until the process has ended.
func keepOpen(to listener, connections int, text []byte) attack {
	return connecting(to, connections, func(connection io.Writer) error {
		_, err := connection.Write(text)
		return err
	})
}

// smallFrames opens a connection for each time, with one stream, and sends most of a message in frames of so many bytes.
func smallFrames(size int) attack {
	const announced = 15 << 20
	begin := halfStream(string(binary.BigEndian.AppendUint32([]byte{0}, announced)))
	return connecting(ownGRPC, 1, func(connection io.Writer) error {
		if _, err := io.WriteString(connection, begin); err != nil {
			return err
		}
		time.Sleep(100 * time.Millisecond) // until the server has enlarged the window of the stream
		buffered := bufio.NewWriter(connection)
		framer, data := http2.NewFramer(buffered, nil), make([]byte, size)
		for sent := size; sent < announced; sent += size {
			if err := framer.WriteData(1, false, data); err != nil {
				return err
			}
		}
		return buffered.Flush()
	})
}

// connecting opens so many connections to a listener for each time, and sends something on each.
func connecting(to listener, connections int, send func(io.Writer) error) attack {
	return func(ctx context.Context, p *process, _ []byte, times int) *tally {
		var answers tally
		var senders sync.WaitGroup
		for range connections * times {
			senders.Go(func() {
				connection, err := new(net.Dialer).DialContext(ctx, "tcp", p.listening(to))
				if err != nil {
					answers.fault("cannot connect to a listener: %s", err)
					return
				}
				p.held.add(connection)
				if p.tls {
					connection = secure(connection, p.certificate, true)
				}
				_ = connection.SetWriteDeadline(time.Now().Add(servedWithin))
				go func() { _, _ = io.Copy(io.Discard, connection) }() // until the connection is closed
				if err = send(connection); err != nil {
					answers.add(cutOff, err.Error())
					return
				}
				answers.add("stalled", "")
			})
		}
		senders.Wait()
		select {
		case <-ctx.Done():
		case <-time.After(servedWithin): // Honest clients come meanwhile.
		}
		return &answers
	}
}
