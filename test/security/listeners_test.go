// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package security

import (
	"crypto/tls"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func sample(t *testing.T) []byte {
	t.Helper()
	content, err := os.ReadFile("../../testdata/pprof/cpu.pb.gz")
	require.NoError(t, err)
	return content
}

// basic is the header for a user and a password.
const (
	basicRight = "Basic dXNlcjpyaWdodC1wYXNzd29yZA==" // user:right-password
	basicWrong = "Basic dXNlcjp3cm9uZy1wYXNzd29yZA==" // user:wrong-password
	basicOther = "Basic b3RoZXI6cmlnaHQtcGFzc3dvcmQ=" // other:right-password
)

// TestCertificates: with a client_ca_file only who has a certificate of that authority gets as far as a request.
func TestCertificates(t *testing.T) {
	ours, other := newAuthority(t), newAuthority(t)
	certificate, key, ca := ours.files(t, ours.issue(t))
	g := start(t, []string{"tls: {cert_file: " + certificate + ", key_file: " + key + ", client_ca_file: " + ca + "}"})
	trust := func(highest uint16, certificates ...tls.Certificate) *tls.Config {
		return &tls.Config{RootCAs: ours.pool, Certificates: certificates, MinVersion: tls.VersionTLS10, MaxVersion: highest}
	}
	for name, c := range map[string]struct {
		caller caller
		want   string
	}{
		"clear text":                 {caller{}, refused},
		"no certificate":             {caller{tls: trust(0)}, refused},
		"of another authority":       {caller{tls: trust(0, other.issue(t))}, refused},
		"of ours":                    {caller{tls: trust(0, ours.issue(t))}, taken},
		"of ours, with TLS 1.1":      {caller{tls: trust(tls.VersionTLS11, ours.issue(t))}, refused},
		"a gateway that is not ours": {caller{tls: &tls.Config{RootCAs: other.pool, Certificates: []tls.Certificate{ours.issue(t)}}}, refused},
	} {
		t.Run(name, func(t *testing.T) { assert.Equal(t, everywhere(c.want), g.knock(t, c.caller)) })
	}
}

// TestPasswords: with TLS and basicauth only who knows the password gets an answer, and the log has none of them.
func TestPasswords(t *testing.T) {
	ours := newAuthority(t)
	certificate, key, _ := ours.files(t, ours.issue(t))
	users := filepath.Join(t.TempDir(), "htpasswd")
	require.NoError(t, os.WriteFile(users, []byte("user:right-password\n"), 0o600))
	g := start(t, []string{"tls: {cert_file: " + certificate + ", key_file: " + key + "}", "auth: {authenticator: basicauth}"},
		"yaml:extensions: {basicauth: {htpasswd: {file: "+users+"}}}", "yaml:service: {extensions: [health_check, basicauth]}")
	g.assertAuthorization(t, &tls.Config{RootCAs: ours.pool}, map[string]string{
		"": unknown, basicWrong: unknown, basicOther: unknown, "Bearer right-password": unknown, "Basic !": unknown, basicRight: taken,
	})
	for _, secret := range []string{"right-password", "wrong-password", basicRight, basicWrong, "dXNlcjp"} {
		assert.NotContains(t, g.Log(), secret)
	}
}

// TestTokens: the same with bearertokenauth.
func TestTokens(t *testing.T) {
	ours := newAuthority(t)
	certificate, key, _ := ours.files(t, ours.issue(t))
	g := start(t, []string{"tls: {cert_file: " + certificate + ", key_file: " + key + "}", "auth: {authenticator: bearertokenauth}"},
		"yaml:extensions: {bearertokenauth: {token: right-token}}", "yaml:service: {extensions: [health_check, bearertokenauth]}")
	g.assertAuthorization(t, &tls.Config{RootCAs: ours.pool}, map[string]string{
		"": unknown, "Bearer wrong-token": unknown, "Bearer right-token-and-more": unknown, basicRight: unknown, "Bearer right-token": taken,
	})
	for _, secret := range []string{"right-token", "wrong-token", "dXNlcjp"} {
		assert.NotContains(t, g.Log(), secret)
	}
}

// assertAuthorization knocks with each header, and in clear text with all of them.
func (g *tester) assertAuthorization(t *testing.T, trust *tls.Config, want map[string]string) {
	t.Helper()
	for authorization, answer := range want {
		assert.Equal(t, everywhere(answer), g.knock(t, caller{trust, authorization}), "Authorization: %s", authorization)
		assert.Equal(t, everywhere(refused), g.knock(t, caller{nil, authorization}), "in clear text, Authorization: %s", authorization)
	}
}
