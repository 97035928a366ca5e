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
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
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
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	if by == nil {
		by = key
	}
	signed, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, by)
	require.NoError(t, err)
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
	private, err := x509.MarshalECPrivateKey(c.PrivateKey.(*ecdsa.PrivateKey))
	require.NoError(t, err)
	return write("tls.crt", "CERTIFICATE", c.Certificate[0]), write("tls.key", "EC PRIVATE KEY", private),
		write("ca.crt", "CERTIFICATE", a.certificate.Raw)
}
