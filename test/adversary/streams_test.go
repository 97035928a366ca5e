// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package adversary

import (
	"bytes"
	"context"
	"io"
	"net"
	"sync"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// openStreams are streams of gRPC that never end, with no message or with a whole one.
func openStreams() []body {
	return []body{
		{name: "open-streams-of-grpc", to: ownGRPC, alone: true, attack: served(keepOpen(4, nil))},
		{name: "open-messages-of-grpc", to: ownGRPC, alone: true, attack: served(keepOpen(1, grpcMessage(false, openMessage())))},
	}
}

// openMessage fits into the window of a connection as often as there are streams.
func openMessage() []byte { return field(2, filling(textField(5, "").plain(), 12<<10)).plain() }

// streams are a connection with as many streams as the configurations allow. Each has the same field so many times, and then sends a message,
// unless it is nil.
func streams(fields int, message []byte) []byte {
	var out, block bytes.Buffer
	out.WriteString(http2.ClientPreface)
	framer := http2.NewFramer(&out, nil)
	encoder := hpack.NewEncoder(&block)
	_ = framer.WriteSettings() // All is written to memory.
	for i := range uint32(64) {
		block.Reset()
		for _, field := range grpcFields {
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

// keepOpen opens so many connections for each time, and all streams of each. They stay open until the process has ended.
func keepOpen(connections int, message []byte) attack {
	text := streams(0, message)
	return func(ctx context.Context, p *process, _ []byte, times int) *tally {
		var answers tally
		var senders sync.WaitGroup
		for range connections * times {
			senders.Go(func() {
				connection, err := new(net.Dialer).DialContext(ctx, "tcp", p.listening(ownGRPC))
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
				if _, err = connection.Write(text); err != nil {
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
