// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package adversary

import (
	"bytes"
	"cmp"
	"context"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// everyListener is what the class "slow and half" attacks: all ports on which the process accepts connections, whether or not a
// configuration names them.
const everyListener listener = "every listener"

// defaultMetrics is where the Collector offers its own metrics if the configuration does not say where. Their server is not one of
// this repository, and takes up to 5 seconds to stop, beside the 5 seconds that gRPC waits for a client that does not answer.
const defaultMetrics = "127.0.0.1:8888"

const (
	halfPost    = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n"
	withoutBody = "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100\r\n\r\nab"
)

// halfHeaders and halfBodies are what a client sends before it stops.
var (
	halfHeaders = []string{
		"",
		"POST / HTTP/1.1\r\nHost: a\r\nX-A",
		http2.ClientPreface[:10],
		http2.ClientPreface,
	}
	halfBodies = []string{
		withoutBody,
		halfPost + "Content-Type: text/plain\r\n\r\n",
		halfPost + "Content-Encoding: unknown\r\n\r\nab",
		"POST " + profilesPath + " HTTP/1.1\r\nHost: a\r\nContent-Type: application/x-protobuf\r\nContent-Length: 100\r\n\r\nab",
		"POST /v1/pprof HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab",
		halfStream(""),
		halfStream("\x00\x00\x10"),
		halfStream("\x00\x00\x00\x00\x64ab"),
	}
)

// stalledBodies are connections that stop in the middle and stay open until the process has ended. It must end in time, or reload.
func stalledBodies() []body {
	headers, bodies := hold(everyPort, halfHeaders...), hold(otherPorts, halfBodies...)
	return []body{
		{name: "slow-and-half-headers", to: everyListener, alone: true, attack: headers},
		{name: "slow-and-half-bodies", to: everyListener, alone: true, attack: bodies},
		{name: "slow-and-half-bodies-to-metrics", to: everyListener, alone: true, attack: hold(onlyMetrics, withoutBody)},
		{name: "many-half-bodies-of-pprof", to: pprofServer, alone: true, attack: keepWorking(pprofServer, halfPprof)},
		{name: "many-half-bodies-of-otlp", to: otlpHTTP, alone: true, attack: keepWorking(otlpHTTP, halfProfiles)},
		{name: "slow-and-half-headers-at-a-reload", to: everyListener, alone: true, reload: true, attack: reload(headers)},
		{name: "slow-and-half-bodies-at-a-reload", to: everyListener, alone: true, reload: true, attack: reload(bodies)},
	}
}

const (
	halfPprof    = "POST /v1/pprof HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\nab"
	halfProfiles = "POST " + profilesPath + " HTTP/1.1\r\nHost: a\r\nContent-Type: application/x-protobuf\r\nContent-Length: 100\r\n\r\nab"
)

// keepWorking begins requests on connections of their own, more than a server may have, and leaves them open for eight seconds.
func keepWorking(to listener, text string) attack {
	return func(ctx context.Context, p *process, _ []byte, times int) *tally {
		var answers tally
		for range max(1, 20*times/64) {
			var senders sync.WaitGroup
			for range 64 { // A server closes the oldest if 128 have not sent a request.
				senders.Go(func() { p.stallOn(ctx, p.listening(to), text, &answers) })
			}
			senders.Wait()
		}
		select {
		case <-ctx.Done():
		case <-time.After(slowReading):
		}
		p.held.close()
		return &answers
	}
}

func everyPort(*process, string) bool { return true }
func onlyMetrics(p *process, address string) bool {
	return address == cmp.Or(p.metrics, defaultMetrics)
}
func otherPorts(p *process, address string) bool { return !onlyMetrics(p, address) }

// hold opens connections to the ports of the process that are chosen, sends a text on each, and leaves them open until the process
// has ended.
func hold(chosen func(p *process, address string) bool, texts ...string) attack {
	return func(ctx context.Context, p *process, _ []byte, times int) *tally {
		var answers tally
		var senders sync.WaitGroup
		for _, address := range p.listeners(&answers) {
			if !chosen(p, address) {
				continue
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

// listeners returns the addresses on which the process accepts connections.
func (p *process) listeners(answers *tally) (addresses []string) {
	ports, err := p.running.Listeners()
	if err != nil || len(ports) == 0 {
		answers.fault("no listeners: %v", err)
	}
	for _, port := range ports {
		addresses = append(addresses, net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	}
	return addresses
}

// stallOn sends a text on a new connection.
func (p *process) stallOn(ctx context.Context, address, text string, answers *tally) {
	connection, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		answers.fault("cannot connect to a listener: %s", err)
		return
	}
	p.held.add(connection)
	_ = connection.SetDeadline(time.Now().Add(servedWithin))
	if p.tls && text != "" && otherPorts(p, address) && address != strings.TrimPrefix(p.health(), "http://") {
		connection = secure(connection, p.certificate, strings.HasPrefix(text, http2.ClientPreface[:10]))
	}
	_, err = io.WriteString(connection, text)
	if err != nil {
		answers.add(cutOff, err.Error())
		return
	}
	answers.add("stalled", "")
}

// reloadsWithin is how long a port may refuse connections while the process reloads its configuration.
const reloadsWithin = 10 * time.Second

// reload holds connections, sends SIGHUP, and waits until the process accepts connections on all its ports again.
func reload(hold attack) attack {
	return func(ctx context.Context, p *process, wire []byte, times int) *tally {
		answers := hold(ctx, p, wire, times)
		addresses := p.listeners(answers)
		services := strings.Count(p.running.Log(), serviceStarted)
		begin := now()
		if err := syscall.Kill(p.running.PID(), syscall.SIGHUP); err != nil {
			answers.fault("cannot reload: %s", err)
			return answers
		}
		for strings.Count(p.running.Log(), serviceStarted) == services && p.running.Running() && begin.granted() < 2*reloadsWithin {
			sleep(ctx)
		}
		if took := begin.granted(); took > reloadsWithin {
			answers.fault("the ports refuse connections for %s after SIGHUP", took)
		} else {
			answers.add("reloaded", took.Round(time.Millisecond).String())
		}
		for _, address := range addresses {
			p.stallOn(ctx, address, "", answers)
		}
		return answers
	}
}

// serviceStarted is what the Collector logs when all components have started.
const serviceStarted = "Everything is ready"

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

// grpcFields are those of each stream of gRPC.
var grpcFields = []hpack.HeaderField{
	{Name: ":method", Value: "POST"},
	{Name: ":scheme", Value: "http"},
	{Name: ":authority", Value: "a"},
	{Name: ":path", Value: "/opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export"},
	{Name: "content-type", Value: "application/grpc"},
	{Name: "te", Value: "trailers"},
}

// halfStream is a stream of gRPC that has begun, and a part of its message.
func halfStream(message string) string {
	var out, block bytes.Buffer
	out.WriteString(http2.ClientPreface)
	framer := http2.NewFramer(&out, nil)
	encoder := hpack.NewEncoder(&block)
	for _, field := range grpcFields {
		_ = encoder.WriteField(field) // to memory
	}
	_ = framer.WriteSettings()
	_ = framer.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: block.Bytes(), EndHeaders: true})
	_ = framer.WriteData(1, false, []byte(message))
	return out.String()
}
