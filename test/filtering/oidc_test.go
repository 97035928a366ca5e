// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package filtering

import (
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
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// issuer issues tokens as an OpenID provider does.
type issuer struct {
	server *httptest.Server
	key    *rsa.PrivateKey
}

func startIssuer(t *testing.T) *issuer {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
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
	header, err := json.Marshal(map[string]string{"alg": "RS256", "kid": "1", "typ": "JWT"})
	require.NoError(t, err)
	body, err := json.Marshal(claims)
	require.NoError(t, err)
	signed := encode(header) + "." + encode(body)
	sum := sha256.Sum256([]byte(signed))
	signature, err := rsa.SignPKCS1v15(rand.Reader, key, crypto.SHA256, sum[:])
	require.NoError(t, err)
	return "Bearer " + signed + "." + encode(signature)
}

func TestOIDC(t *testing.T) {
	t.Parallel()
	i := startIssuer(t)
	other, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
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
