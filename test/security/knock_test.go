// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package security

import (
	"bytes"
	"context"
	"crypto/tls"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pprofile"
	"go.opentelemetry.io/collector/pdata/pprofile/pprofileotlp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

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
	request, err := pprofileotlp.NewExportRequestFromProfiles(pprofile.NewProfiles()).MarshalProto()
	require.NoError(t, err)
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
	request, err := http.NewRequestWithContext(t.Context(), method, scheme+address, bytes.NewReader(body))
	require.NoError(t, err)
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
