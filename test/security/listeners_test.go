// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package security

import (
	"bytes"
	"context"
	"crypto/tls"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pprofile"
	"go.opentelemetry.io/collector/pdata/pprofile/pprofileotlp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/otelpprof/otelpprof/internal/testkit/must"
)

func sample(t *testing.T) []byte {
	t.Helper()
	content := must.Get(os.ReadFile("../../testdata/pprof/cpu.pb.gz"))(t)
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

// caller is who knocks: with TLS or in clear text, and with what it says of itself.
type caller struct {
	tls           *tls.Config
	authorization string
}

// The ways in which a listener answers.
const (
	taken   = "taken"
	unknown = "not allowed" // 401, Unauthenticated
	refused = "refused"     // no connection, or an answer that is neither of these
)

// knock calls each listener once and tells what each said.
func (g *tester) knock(t *testing.T, c caller) map[string]string {
	t.Helper()
	request := must.Get(pprofileotlp.NewExportRequestFromProfiles(pprofile.NewProfiles()).MarshalProto())(t)
	return map[string]string{
		"receiver pprof":                    c.http(t, http.MethodPost, g.pprof+"/v1/pprof?service.name=checkout", sample(t)),
		"receiver splunk_log_profile, HTTP": c.http(t, http.MethodPost, g.http+"/v1development/profiles", request),
		"receiver splunk_log_profile, gRPC": c.grpc(t, g.grpc),
		"exporter profile_view":             c.http(t, http.MethodGet, g.pages+"/profiles", nil),
	}
}

// everywhere is the answer of all listeners.
func everywhere(answer string) map[string]string {
	return map[string]string{
		"receiver pprof": answer, "receiver splunk_log_profile, HTTP": answer,
		"receiver splunk_log_profile, gRPC": answer, "exporter profile_view": answer,
	}
}

func (c caller) http(t *testing.T, method, address string, body []byte) string {
	t.Helper()
	scheme := "http://"
	if c.tls != nil {
		scheme = "https://"
	}
	request := must.Get(http.NewRequestWithContext(t.Context(), method, scheme+address, bytes.NewReader(body)))(t)
	request.Header.Set("Content-Type", "application/x-protobuf")
	if c.authorization != "" {
		request.Header.Set("Authorization", c.authorization)
	}
	transport := &http.Transport{TLSClientConfig: c.tls, DisableKeepAlives: true}
	defer transport.CloseIdleConnections()
	response, err := (&http.Client{Transport: transport, Timeout: patience}).Do(request)
	if err != nil {
		return refused
	}
	defer response.Body.Close()
	switch {
	case response.StatusCode/100 == 2:
		return taken
	case response.StatusCode == http.StatusUnauthorized:
		return unknown
	}
	return refused
}

func (c caller) grpc(t *testing.T, address string) string {
	t.Helper()
	transport := insecure.NewCredentials()
	if c.tls != nil {
		transport = credentials.NewTLS(c.tls)
	}
	connection, err := grpc.NewClient(address, grpc.WithTransportCredentials(transport))
	require.NoError(t, err)
	defer connection.Close()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if c.authorization != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, "authorization", c.authorization)
	}
	_, err = pprofileotlp.NewGRPCClient(connection).Export(ctx, pprofileotlp.NewExportRequest())
	switch status.Code(err) {
	case codes.OK:
		return taken
	case codes.Unauthenticated:
		return unknown
	default:
		return refused
	}
}
