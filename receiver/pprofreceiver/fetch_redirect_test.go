// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"go.opentelemetry.io/collector/config/configopaque"
)

// TestFetchRedirect follows redirects within a target. A redirect to another host or port would disclose the headers.
func TestFetchRedirect(t *testing.T) {
	stranger := newTarget(t, serve(gz(t, plain(t, cpuProfile(1)))))
	elsewhere := strings.Replace(stranger.URL, "127.0.0.1", "localhost", 1) + "/there"
	to := newTarget(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/away":
			http.Redirect(w, r, stranger.URL+"/there", http.StatusFound)
		case "/far":
			http.Redirect(w, r, elsewhere, http.StatusFound)
		case "/here":
			http.Redirect(w, r, "/there", http.StatusFound)
		default:
			assert.Equal(t, "key", r.Header.Get("X-Api-Key"))
			serve(gz(t, plain(t, cpuProfile(1))))(w, r)
		}
	})
	headers := configopaque.MapList{{Name: "X-Api-Key", Value: "key"}}
	remote := func(cfg *Config, section *RemoteConfig) { section.HTTP.Headers = headers }
	scrape := func(cfg *ScrapeConfig) {
		cfg.HTTP.Headers = headers
		cfg.Schedule = soon()
		cfg.Profiles = []ScrapedProfile{{Name: "one", Path: "/away"}, {Name: "far", Path: "/far"}, {Name: "other", Path: "/here"}}
	}
	runRemote(t, &watchingHost{}, to.URL+"/here", remote).sink.wait(t, 1)
	runRemote(t, &watchingHost{}, to.URL+"/away", remote).waitOutcome(t, "bad_answer", 2)
	runRemote(t, &watchingHost{}, to.URL+"/far", remote).waitOutcome(t, "bad_answer", 2)
	both := runScrape(t, &watchingHost{}, scrape, to.URL)
	both.sink.wait(t, 1)
	both.waitOutcome(t, "bad_answer", 3)
	assert.Zero(t, stranger.times("/there"))
}
