// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package security

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/otelpprof/otelpprof/internal/testkit/gateway"
	"github.com/otelpprof/otelpprof/internal/testkit/gatewaytest"
	"github.com/otelpprof/otelpprof/internal/testkit/must"
)

// authority signs certificates.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	pool        *x509.CertPool
}

func newAuthority(t *testing.T) authority {
	t.Helper()
	a := authority{pool: x509.NewCertPool()}
	template := certificate()
	template.IsCA, template.BasicConstraintsValid, template.KeyUsage = true, true, x509.KeyUsageCertSign
	var signed []byte
	a.key, signed = sign(t, template, template, nil)
	var err error
	a.certificate, err = x509.ParseCertificate(signed)
	require.NoError(t, err)
	a.pool.AddCert(a.certificate)
	return a
}

func certificate() *x509.Certificate {
	return &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()),
		NotBefore:    time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
}

// sign makes a key and its certificate; without a parent's key the certificate signs itself.
func sign(t *testing.T, template, parent *x509.Certificate, by *ecdsa.PrivateKey) (*ecdsa.PrivateKey, []byte) {
	t.Helper()
	key := must.Get(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	if by == nil {
		by = key
	}
	signed := must.Get(x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, by))(t)
	return key, signed
}

// issue returns a certificate for 127.0.0.1, of a server or of a client.
func (a authority) issue(t *testing.T) tls.Certificate {
	t.Helper()
	key, signed := sign(t, certificate(), a.certificate, a.key)
	return tls.Certificate{Certificate: [][]byte{signed}, PrivateKey: key}
}

// files writes a certificate, its key and the authority as the gateway reads them.
func (a authority) files(t *testing.T, c tls.Certificate) (certificate, key, ca string) {
	t.Helper()
	directory := t.TempDir()
	write := func(name, kind string, content []byte) string {
		path := filepath.Join(directory, name)
		require.NoError(t, os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: content}), 0o600))
		return path
	}
	private := must.Get(x509.MarshalECPrivateKey(c.PrivateKey.(*ecdsa.PrivateKey)))(t)
	return write("tls.crt", "CERTIFICATE", c.Certificate[0]), write("tls.key", "EC PRIVATE KEY", private),
		write("ca.crt", "CERTIFICATE", a.certificate.Raw)
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is how long anything may take that the gateway does by itself.
const patience = time.Minute

// listeners is a gateway with each listener that is ours, all with the same settings for TLS and authentication.
const listeners = `yaml:
receivers:
  pprof:
    server:
      endpoint: %[1]s
%[7]s
  splunk_log_profile:
    protocols:
      http:
        endpoint: %[2]s
%[8]s
      grpc:
        endpoint: %[3]s
%[8]s
exporters:
  profile_view:
    endpoint: %[4]s
%[9]s
  pprof:
    file:
      directory: %[6]s
extensions:
  health_check:
    endpoint: %[5]s
service:
  extensions: [health_check]
  pipelines:
    profiles:
      receivers: [pprof, splunk_log_profile]
      exporters: [profile_view, pprof]
  telemetry:
    logs:
      level: debug
    metrics:
      level: none
`

// tester is a running gateway with its four listeners.
type tester struct {
	*gateway.Gateway
	pprof, http, grpc, pages string
	directory                string
}

func indented(lines []string, by int) string {
	indent := strings.Repeat(" ", by)
	return indent + strings.Join(lines, "\n"+indent)
}

// start runs the gateway. settings are lines of YAML that each listener has, and more is configuration besides.
func start(t *testing.T, settings []string, more ...string) *tester {
	t.Helper()
	a := must.Get(gateway.FreeAddresses(t.Context(), 5))(t)
	g := &tester{pprof: a[0], http: a[1], grpc: a[2], pages: a[3], directory: t.TempDir()}
	four, six, eight := indented(settings, 4), indented(settings, 6), indented(settings, 8)
	g.Gateway = gatewaytest.Run(t, gateway.Options{
		Configs:   append([]string{fmt.Sprintf(listeners, a[0], a[1], a[2], a[3], a[4], g.directory, six, eight, four)}, more...),
		HealthURL: "http://" + a[4],
	})
	return g
}
