// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package adversary

import (
	"cmp"
	"context"
	"crypto/tls"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelpprof/otelpprof/internal/testkit/certtest"
	"github.com/otelpprof/otelpprof/internal/testkit/must"
)

const (
	// manyConnections is how many connections each text of these attacks has to each listener.
	manyConnections = 64
	// zpagesPort and pprofPort are those of the extensions zpages and pprof, whose servers are not ours, as that of the metrics. They
	// are on loopback.
	zpagesPort, pprofPort = "4043", "1777"
)

// ownGRPC is the listener for OTLP over gRPC of the process itself, not of one before it.
const ownGRPC listener = "OTLP/gRPC of the process"

// largeHeaders are connections that stay open with as much of a header as the listener reads: a header costs memory before any
// handler knows of it.
func largeHeaders() []body {
	const post = "POST " + profilesPath + " HTTP/1.1\r\nHost: a\r\nContent-Type: application/x-protobuf\r\nContent-Length: 100\r\n"
	gRPC := func(p *process, address string) bool { return address == p.listening(ownGRPC) }
	ours := func(p *process, address string) bool {
		return !gRPC(p, address) && otherPorts(p, address) && address != p.byPort[zpagesPort] &&
			address != cmp.Or(p.byPort[pprofPort], "127.0.0.1:"+pprofPort)
	}
	all := func(p *process, address string) bool { return ours(p, address) || gRPC(p, address) }
	headers := func(name string, to listener, chosen func(*process, string) bool, texts ...string) body {
		return body{name: name, to: to, alone: true, times: manyConnections, attack: served(hold(chosen, texts...))}
	}
	return []body{
		headers("large-headers", everyListener, ours,
			post+shortFields(1<<20),
			post+shortFields(16<<10-len(post)-4),
			post+shortFields(1<<20)+"\r\nab",
			post+shortFields(700)+"\r\nab",
			post+"A: "+strings.Repeat("a", 15<<10)+"\r\n\r\nab",
		),
		headers("large-headers-of-streams", everyListener, ours, manyStreams(1900), manyStreams(350), manyStreams(100)),
		headers("large-headers-of-grpc", ownGRPC, gRPC, manyStreams(1900), manyStreams(350), manyStreams(100)),
		headers("large-headers-everywhere", everyListener, all, post+shortFields(16<<10-len(post)-4), manyStreams(350)),
	}
}

// shortFields are so many bytes of fields with different names, as short as possible.
func shortFields(size int) string {
	var text strings.Builder
	for i := 0; text.Len() < size; i++ {
		text.WriteString(strconv.FormatInt(int64(i), 36) + ":\r\n")
	}
	return text.String()[:size]
}

// manyStreams are streams of gRPC with the same field so many times, which costs a byte on the wire each time. They send no message.
func manyStreams(fields int) string { return string(streams(grpcFields, fields, nil)) }

// served checks that others are served after an attack, by the listeners that have no honest client.
func served(attack attack) attack {
	return func(ctx context.Context, p *process, wire []byte, times int) *tally {
		answers := attack(ctx, p, wire, times)
		ctx, cancel := context.WithTimeout(ctx, busyMachine*servedWithin)
		defer cancel()
		for p.running.Running() {
			status, _ := get(ctx, p.health(), "")
			message := status
			if address := p.listening(otlpHTTP); address != "" && !p.tls {
				message, _ = request(ctx, "http://"+address+profilesPath, []string{"Content-Type", "application/json"}, []byte("{}"))
			}
			if status == "200" && (message == "200" || message == "204") {
				break
			}
			if ctx.Err() != nil {
				answers.fault("health_check is answered with %q and OTLP over HTTP with %q", status, message)
				break
			}
			sleep(ctx)
		}
		return answers
	}
}

// honestPassword is what an honest client sends where a password is needed.
const honestPassword = "Basic aG9uZXN0OmhvbmVzdA=="

// writeSecrets writes the files of the Secrets that a configuration with TLS reads. The authority, the process and its clients have
// the same certificate.
func writeSecrets(t *testing.T, directory string) tls.Certificate {
	t.Helper()
	certificate := certtest.SelfSigned(t, directory)
	authority := must.Get(os.ReadFile(filepath.Join(directory, "tls.crt")))(t)
	require.NoError(t, os.WriteFile(filepath.Join(directory, "ca.crt"), authority, 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(directory, "htpasswd"), []byte("honest:{SHA}U4YYUaFGlP7tKiFoF/QNP0cBVwU=\n"), 0o600))
	return certificate
}

// secure puts a connection beneath TLS.
func secure(connection net.Conn, certificate tls.Certificate, http2 bool) net.Conn {
	protocol := "http/1.1"
	if http2 {
		protocol = "h2"
	}
	config := clientOf(certificate)
	config.NextProtos = []string{protocol}
	return tls.Client(connection, config)
}

// clientOf returns the settings of a client with this certificate.
func clientOf(certificate tls.Certificate) *tls.Config {
	return &tls.Config{
		Certificates: []tls.Certificate{certificate}, ServerName: "127.0.0.1",
		InsecureSkipVerify: true, // the process has the same certificate
	}
}
