// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componenttest"
)

// TestIdleConnectionsAreClosed: after a shutdown, targets have no connection of the receiver.
func TestIdleConnectionsAreClosed(t *testing.T) {
	for name, change := range map[string]func(*Config, string){
		"scrape": func(cfg *Config, address string) {
			section := cfg.Scrape.GetOrInsertDefault()
			section.Schedule, section.Targets = soon(), []TargetConfig{{Endpoint: address}}
			section.Profiles = []ScrapedProfile{{Name: profileHeap}}
		},
		"remote": func(cfg *Config, address string) {
			section := cfg.Remote.GetOrInsertDefault()
			section.Schedule, section.HTTP.Endpoint = soon(), address
		},
	} {
		t.Run(name, func(t *testing.T) {
			var opened, closed atomic.Int64
			to := httptest.NewUnstartedServer(serve(plain(t, cpuProfile(1))))
			to.Config.ConnState = func(_ net.Conn, state http.ConnState) {
				switch state {
				case http.StateNew:
					opened.Add(1)
				case http.StateClosed:
					closed.Add(1)
				}
			}
			to.Start()
			t.Cleanup(to.Close)
			cfg := fetchConfig()
			change(cfg, to.URL)
			r := runConfig(t, componenttest.NewNopHost(), cfg)
			r.waitOutcome(t, outcomeOK, 2)
			assert.Greater(t, opened.Load(), closed.Load())
			require.NoError(t, r.receiver.Shutdown(t.Context()))
			assert.Eventually(t, func() bool { return opened.Load() == closed.Load() }, 10*time.Second, time.Millisecond)
		})
	}
}
