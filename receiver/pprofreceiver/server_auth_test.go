// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"context"
	"errors"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/client"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/config/configauth"
	"go.opentelemetry.io/collector/config/confighttp"
	"go.opentelemetry.io/collector/config/configoptional"
)

var guardID = component.MustNewID("guard")

// guard is an authenticator with a password. It names the client.
type guard struct {
	component.StartFunc
	component.ShutdownFunc
}

type knownClient struct{ client.AuthData }

func (guard) Authenticate(ctx context.Context, sources map[string][]string) (context.Context, error) {
	if word := sources["X-Word"]; len(word) != 1 || word[0] != "sesame" {
		return ctx, errors.New("wrong password")
	}
	info := client.FromContext(ctx)
	info.Auth = knownClient{}
	return client.NewContext(ctx, info), nil
}

type guardedHost struct{ component.Host }

func (guardedHost) GetExtensions() map[component.ID]component.Component {
	return map[component.ID]component.Component{guardID: guard{}}
}

func TestAuthentication(t *testing.T) {
	r := runOn(t, guardedHost{componenttest.NewNopHost()}, func(_ *Config, s *ServerConfig) {
		s.HTTP.Auth = configoptional.Some(confighttp.AuthConfig{Config: configauth.Config{AuthenticatorID: guardID}})
	})
	body := plain(t, cpuProfile(1))
	got := r.post(t, "/v1/pprof", body)
	assert.Equal(t, http.StatusUnauthorized, got.status)
	assert.Equal(t, "wrong password\n", got.text)
	assert.Empty(t, got.header.Get("Retry-After"))
	r.assertRefusals(t, map[string]int64{"not_allowed": 1})

	got = r.post(t, "/v1/pprof", body, "X-Word", "sesame")
	require.Equal(t, http.StatusNoContent, got.status, got.text)
	assert.Equal(t, knownClient{}, client.FromContext(r.sink.ctx[0]).Auth)
}
