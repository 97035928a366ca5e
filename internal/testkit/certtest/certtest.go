// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package certtest makes certificates for tests.
package certtest // import "github.com/otelpprof/otelpprof/internal/testkit/certtest"

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otelpprof/otelpprof/internal/testkit/must"
)

// SelfSigned returns a certificate for 127.0.0.1, of a server, a client and their authority. It writes it to the file tls.crt of a
// directory, and the key to tls.key.
func SelfSigned(tb testing.TB, directory string) tls.Certificate {
	tb.Helper()
	key := must.Get(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(tb)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	signed := must.Get(x509.CreateCertificate(rand.Reader, template, template, key.Public(), key))(tb)
	private := must.Get(x509.MarshalPKCS8PrivateKey(key))(tb)
	for name, block := range map[string]*pem.Block{
		"tls.crt": {Type: "CERTIFICATE", Bytes: signed}, "tls.key": {Type: "PRIVATE KEY", Bytes: private},
	} {
		require.NoError(tb, os.WriteFile(filepath.Join(directory, name), pem.EncodeToMemory(block), 0o600))
	}
	return tls.Certificate{Certificate: [][]byte{signed}, PrivateKey: key}
}
