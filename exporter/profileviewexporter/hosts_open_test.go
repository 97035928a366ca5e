// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profileviewexporter

import (
	"net"
	"testing"

	"github.com/stretchr/testify/assert"
	"go.opentelemetry.io/collector/config/confighttp"
	"go.opentelemetry.io/collector/config/configoptional"
	"go.opentelemetry.io/collector/config/configtls"
)

// TestOpenToAll: a server on another address than loopback needs a way to know who asks.
func TestOpenToAll(t *testing.T) {
	loopback, anywhere := &net.TCPAddr{IP: net.IPv6loopback}, &net.TCPAddr{IP: net.IPv4zero}
	cfg := createDefaultConfig().(*Config)
	assert.True(t, openToAll(cfg, anywhere))
	assert.False(t, openToAll(cfg, loopback))

	cfg.HTTP.TLS = configoptional.Some(configtls.ServerConfig{})
	assert.True(t, openToAll(cfg, anywhere), "TLS says who the server is, not the client")
	cfg.HTTP.TLS = configoptional.Some(configtls.ServerConfig{ClientCAFile: "clients.pem"})
	assert.False(t, openToAll(cfg, anywhere))

	cfg = createDefaultConfig().(*Config)
	cfg.HTTP.Auth = configoptional.Some(confighttp.AuthConfig{})
	assert.False(t, openToAll(cfg, anywhere))
}
