// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package adversary

import (
	"bytes"
	"context"
	"io"
	"net"
	"slices"
	"sync"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// everyListener is what the class "slow and half" attacks: all ports of the configuration that accept connections.
const everyListener listener = "every listener"

// metricsPort is that of the Collector's own metrics. Its server is not one of this repository, and takes up to 5 seconds to stop,
// beside the 5 seconds that gRPC waits for a client that does not answer.
const metricsPort = "8888"

// stalledBodies are connections that stop in the middle and stay open until the process has ended. It must end in time.
func stalledBodies() []body {
	const post = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n"
	withoutBody := "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100\r\n\r\nab"
	all := func(string) bool { return true }
	metrics := func(port string) bool { return port == metricsPort }
	others := func(port string) bool { return port != metricsPort }
	return []body{
		{name: "slow-and-half-headers", to: everyListener, alone: true, attack: hold(all,
			"",
			"POST / HTTP/1.1\r\nHost: a\r\nX-A",
			http2.ClientPreface[:10],
			http2.ClientPreface,
		)},
		{name: "slow-and-half-bodies", to: everyListener, alone: true, attack: hold(others,
			withoutBody,
			post+"Content-Type: text/plain\r\n\r\n",
			post+"Content-Encoding: unknown\r\n\r\nab",
			"POST "+profilesPath+" HTTP/1.1\r\nHost: a\r\nContent-Type: application/x-protobuf\r\nContent-Length: 100\r\n\r\nab",
			"POST /v1/pprof HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab",
			halfStream(""),
			halfStream("\x00\x00\x10"),
			halfStream("\x00\x00\x00\x00\x64ab"),
		)},
		{name: "slow-and-half-bodies-to-metrics", to: everyListener, alone: true, attack: hold(metrics, withoutBody)},
	}
}

// hold opens connections to the ports of the process that are chosen, sends a text on each, and leaves them open until the process
// has ended.
func hold(chosen func(port string) bool, texts ...string) attack {
	return func(ctx context.Context, p *process, _ []byte, times int) *tally {
		var answers tally
		var senders sync.WaitGroup
		for port, address := range p.byPort {
			if !chosen(port) || slices.Contains([]string{backendPort, brokerPort, targetPort}, port) {
				continue // The last three are not ports of the process.
			}
			for range times {
				senders.Go(func() {
					for _, text := range texts {
						p.stallOn(ctx, address, text, &answers)
					}
				})
			}
		}
		senders.Wait()
		if answers.String() == "" {
			answers.fault("no listener accepts a connection")
		}
		return &answers
	}
}

// stallOn sends a text on a new connection. A port of the configuration that nothing listens on is one of another server.
func (p *process) stallOn(ctx context.Context, address, text string, answers *tally) {
	connection, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return
	}
	p.held.add(connection)
	_, err = io.WriteString(connection, text)
	if err != nil {
		answers.add(cutOff, err.Error())
		return
	}
	answers.add("stalled", "")
}

// heldConnections are those of an attack that stay open until the process has ended.
type heldConnections struct {
	mu  sync.Mutex
	all []net.Conn
}

func (h *heldConnections) add(c net.Conn) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.all = append(h.all, c)
}

func (h *heldConnections) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, c := range h.all {
		_ = c.Close()
	}
	h.all = nil
}

// halfStream is a stream of gRPC that has begun, and a part of its message.
func halfStream(message string) string {
	var out, block bytes.Buffer
	out.WriteString(http2.ClientPreface)
	framer := http2.NewFramer(&out, nil)
	encoder := hpack.NewEncoder(&block)
	for _, field := range [][2]string{
		{":method", "POST"},
		{":scheme", "http"},
		{":authority", "a"},
		{":path", "/opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export"},
		{"content-type", "application/grpc"},
		{"te", "trailers"},
	} {
		_ = encoder.WriteField(hpack.HeaderField{Name: field[0], Value: field[1]}) // to memory
	}
	_ = framer.WriteSettings()
	_ = framer.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: block.Bytes(), EndHeaders: true})
	_ = framer.WriteData(1, false, []byte(message))
	return out.String()
}
