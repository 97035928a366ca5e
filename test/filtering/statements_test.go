// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package filtering

import (
	"context"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"maps"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pprofile"
	"go.yaml.in/yaml/v3"

	"github.com/otelpprof/otelpprof/internal/testkit/gatewaytest"
	"github.com/otelpprof/otelpprof/internal/testkit/must"
	"github.com/otelpprof/otelpprof/internal/testkit/otlpsink"
)

// TestStatements: the distribution refuses the statements that the page marks with no, and runs all others. If a new version supports
// one more, the page must change.
func TestStatements(t *testing.T) {
	t.Parallel()
	_, below, found := strings.Cut(readPage(t), "<!-- TestStatements")
	require.True(t, found)
	table, _, found := strings.Cut(below, "<!-- end of these -->")
	require.True(t, found)
	rows := regexp.MustCompile("(?m)^\\| `(.*)` \\| (yes|no) \\|$").FindAllStringSubmatch(table, -1)
	require.Len(t, rows, strings.Count(table, "\n| ")-1, "all but the head")
	var known []string
	for _, row := range rows {
		if row[2] == "yes" {
			known = append(known, row[1])
			continue
		}
		output, err := exec.CommandContext(t.Context(), gatewaytest.Binary(t), "validate", "--feature-gates=service.profilesSupport",
			"--config", transform(t, row[1])).CombinedOutput()
		assert.Error(t, err, row[1])
		assert.Contains(t, string(output), "unable to", row[1])
	}
	runStatements(t, known)
}

// runStatements uploads a profile, and checks the effect of some of the statements.
func runStatements(t *testing.T, statements []string) {
	t.Helper()
	var mu sync.Mutex
	var got []pprofile.Profiles
	sink, err := otlpsink.Start(t.Context(), "127.0.0.1:0", func(_ context.Context, pd pprofile.Profiles) error {
		mu.Lock()
		defer mu.Unlock()
		got = append(got, pd)
		return nil
	})
	require.NoError(t, err)
	t.Cleanup(sink.Stop)
	g := start(t, "", transform(t, statements...), "yaml:exporters: {otlp_grpc: {endpoint: '"+sink.Address()+"', tls: {insecure: true}}}",
		"yaml:service::pipelines::profiles::exporters: [otlp_grpc]")
	require.Equal(t, http.StatusNoContent, g.upload(t, "cpu.pb.gz", "service.name=checkout&resource.host.ip=192.0.2.1"))
	require.Eventually(t, func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(got) == 1
	}, within, pollEvery)
	resource := got[0].ResourceProfiles().At(0)
	attributes := resource.Resource().Attributes().AsRaw()
	assert.Equal(t, "a", attributes["team"])
	assert.NotContains(t, attributes, "host.ip")
	assert.Equal(t, "renamed", resource.ScopeProfiles().At(0).Scope().Name())
	for _, p := range resource.ScopeProfiles().At(0).Profiles().All() {
		of := must.Get(pprofile.FromAttributeIndices(got[0].Dictionary().AttributeTable(), p, got[0].Dictionary()))(t)
		assert.Equal(t, "eu", of.AsRaw()["region"])
		assert.Equal(t, "pprof", p.OriginalPayloadFormat())
	}
}

// transform returns a configuration with these statements. An error in one of them makes the upload fail.
func transform(t *testing.T, statements ...string) string {
	t.Helper()
	config := must.Get(yaml.Marshal(map[string]any{
		"receivers":  map[string]any{"pprof": map[string]any{"server": map[string]any{"endpoint": "127.0.0.1:0"}}},
		"processors": map[string]any{"transform": map[string]any{"error_mode": "propagate", "profile_statements": statements}},
		"exporters":  map[string]any{"debug": nil},
		"service": map[string]any{"pipelines": map[string]any{"profiles": map[string]any{
			"receivers": []string{"pprof"}, "processors": []string{"transform"}, "exporters": []string{"debug"},
		}}},
	}))(t)
	return "yaml:" + string(config)
}

// issuer issues tokens as an OpenID provider does.
type issuer struct {
	server *httptest.Server
	key    *rsa.PrivateKey
}

func startIssuer(t *testing.T) *issuer {
	t.Helper()
	key := must.Get(rsa.GenerateKey(rand.Reader, 2048))(t)
	i := &issuer{key: key}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(map[string]any{
			"issuer": i.server.URL, "jwks_uri": i.server.URL + "/keys", "id_token_signing_alg_values_supported": []string{"RS256"},
		})
	})
	mux.HandleFunc("GET /keys", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(map[string]any{"keys": []any{map[string]any{
			"kty": "RSA", "alg": "RS256", "use": "sig", "kid": "1",
			"n": encode(key.N.Bytes()), "e": encode(big.NewInt(int64(key.E)).Bytes()),
		}}})
	})
	i.server = httptest.NewServer(mux)
	t.Cleanup(i.server.Close)
	return i
}

func encode(content []byte) string { return base64.RawURLEncoding.EncodeToString(content) }

// token returns the value of Authorization for these claims, signed with a key.
func (i *issuer) token(t *testing.T, key *rsa.PrivateKey, change map[string]any) string {
	t.Helper()
	claims := map[string]any{
		"iss": i.server.URL, "aud": "profiles", "sub": "1", "email": "agent@example.com",
		"exp": time.Now().Add(time.Hour).Unix(), "iat": time.Now().Unix(),
	}
	maps.Copy(claims, change)
	header := must.Get(json.Marshal(map[string]string{"alg": "RS256", "kid": "1", "typ": "JWT"}))(t)
	body := must.Get(json.Marshal(claims))(t)
	signed := encode(header) + "." + encode(body)
	sum := sha256.Sum256([]byte(signed))
	signature := must.Get(rsa.SignPKCS1v15(rand.Reader, key, crypto.SHA256, sum[:]))(t)
	return "Bearer " + signed + "." + encode(signature)
}

func TestOIDC(t *testing.T) {
	t.Parallel()
	i := startIssuer(t)
	other := must.Get(rsa.GenerateKey(rand.Reader, 2048))(t)
	g := start(t, ", oidc", example(t, "Checking tokens"),
		"yaml:extensions::oidc::providers: [{issuer_url: '"+i.server.URL+"', audience: profiles, username_claim: email}]")
	assert.Equal(t, http.StatusUnauthorized, g.upload(t, "cpu.pb.gz", "service.name=nobody"))
	for service, token := range map[string]string{
		"forged":   i.token(t, other, nil),
		"expired":  i.token(t, i.key, map[string]any{"exp": time.Now().Add(-time.Hour).Unix()}),
		"audience": i.token(t, i.key, map[string]any{"aud": "metrics"}),
		"issuer":   i.token(t, i.key, map[string]any{"iss": "https://example.com"}),
		"nonsense": "Bearer nonsense",
	} {
		assert.Equal(t, http.StatusUnauthorized, g.upload(t, "cpu.pb.gz", "service.name="+service, "Authorization", token), service)
	}
	assert.Equal(t, http.StatusNoContent, g.upload(t, "cpu.pb.gz", "service.name=checkout", "Authorization", i.token(t, i.key, nil)))
	require.EventuallyWithT(t, func(c *assert.CollectT) { assert.Equal(c, []string{"checkout/cpu"}, g.files(c)) }, within, pollEvery)
}
