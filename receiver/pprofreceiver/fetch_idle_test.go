// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componenttest"

	"github.com/otelpprof/otelpprof/internal/testkit/httpclienttest"
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
			url, open := httpclienttest.NewServer(t, serve(plain(t, cpuProfile(1))))
			cfg := fetchConfig()
			change(cfg, url)
			r := runConfig(t, componenttest.NewNopHost(), cfg)
			r.waitOutcome(t, outcomeOK, 2)
			assert.Positive(t, open())
			require.NoError(t, r.receiver.Shutdown(t.Context()))
			assert.Eventually(t, func() bool { return open() == 0 }, 10*time.Second, time.Millisecond)
		})
	}
}
