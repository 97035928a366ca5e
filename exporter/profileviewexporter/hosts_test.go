// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profileviewexporter

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/config/confighttp"
	"go.opentelemetry.io/collector/config/configoptional"
)

// A page of another site can link to pages, but not advance a scraper or load an image.
func TestServerOtherSites(t *testing.T) {
	const allowed = "https://allowed.example"
	s := newServing(t, func(cfg *Config) {
		cfg.HTTP.CORS = configoptional.Some(confighttp.CORSConfig{AllowedOrigins: []string{allowed}})
	})
	s.post(t, made(t, time.Now(), []string{"samples"}, 5), map[string]any{"service.name": "s"})
	const scraped, image = "/profiles/s/samples?scraper=ci", "/static/style.css"
	for _, test := range []struct {
		path   string
		header []string
		want   int
	}{
		{scraped, []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "no-cors", "Sec-Fetch-Dest", "image"}, http.StatusForbidden},
		{scraped, []string{"Sec-Fetch-Site", "same-site", "Sec-Fetch-Mode", "no-cors", "Sec-Fetch-Dest", "image"}, http.StatusForbidden},
		{scraped, []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document"}, http.StatusForbidden},
		{scraped, []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "cors", "Sec-Fetch-Dest", "empty", "Origin", "https://evil.example"}, http.StatusForbidden},
		{image, []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "no-cors", "Sec-Fetch-Dest", "image"}, http.StatusForbidden},
		{"/", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "iframe"}, http.StatusForbidden},
		{"/", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document"}, http.StatusOK},
		{"/", []string{"Sec-Fetch-Site", "none", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document"}, http.StatusOK},
		{"/static/page.js", []string{"Sec-Fetch-Site", "same-origin", "Sec-Fetch-Mode", "no-cors", "Sec-Fetch-Dest", "script"}, http.StatusOK},
		{"/profiles/s/samples", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "cors", "Sec-Fetch-Dest", "empty", "Origin", allowed}, http.StatusOK},
		{image, nil, http.StatusOK},
	} {
		response, body := s.get(t, test.path, test.header...)
		assert.Equal(t, test.want, response.StatusCode, "%s %v: %.200s", test.path, test.header, body)
		assert.Equal(t, "same-origin", response.Header.Get("Cross-Origin-Resource-Policy"))
	}
	response, body := s.get(t, scraped)
	require.Equal(t, http.StatusOK, response.StatusCode, "no other site has taken the profile: %s", body)
	assert.Equal(t, []int64{5}, totals(t, body))
}
