// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package adversary

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

// honestPassword is what an honest client sends where a password is needed.
const honestPassword = "Basic aG9uZXN0OmhvbmVzdA=="

// writeSecrets writes the files of the Secrets that a configuration with TLS reads. The authority, the process and its clients have
// the same certificate.
func writeSecrets(t *testing.T, directory string) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	require.NoError(t, err)
	rawKey, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(t, err)
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw})
	for name, content := range map[string][]byte{
		"tls.crt": certificate, "ca.crt": certificate, "tls.key": pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: rawKey}),
		"htpasswd": []byte("honest:{SHA}U4YYUaFGlP7tKiFoF/QNP0cBVwU=\n"),
	} {
		require.NoError(t, os.WriteFile(filepath.Join(directory, name), content, 0o600))
	}
	return tls.Certificate{Certificate: [][]byte{raw}, PrivateKey: key}
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
