// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package httpclient

import (
	"net/http"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/otelpprof/otelpprof/internal/testkit/must"
)

func TestSameHost(t *testing.T) {
	for name, test := range map[string]struct {
		method, from, to string
		earlier          int
		follows          bool
	}{
		"path":           {"POST", "http://a:1/x", "http://a:1/y", 1, true},
		"case":           {"POST", "http://a:1/x", "http://A:1/x", 1, true},
		"port":           {"POST", "http://a:1/x", "http://a:2/x", 1, false},
		"port of TLS":    {"POST", "https://a:1/x", "https://a/x", 1, false},
		"standard port":  {"POST", "http://a/x", "http://a:80/y", 1, true},
		"same of TLS":    {"POST", "https://a:443/x", "https://a/y", 1, true},
		"to TLS":         {"POST", "http://a/x", "https://a/x", 1, true},
		"to TLS, named":  {"POST", "http://a:80/x", "https://a:443/x", 1, true},
		"to other TLS":   {"POST", "http://a/x", "https://a:444/x", 1, false},
		"other to TLS":   {"POST", "http://a:8080/x", "https://a/x", 1, false},
		"same port, TLS": {"POST", "http://a:8080/x", "https://a:8080/x", 1, false},
		"scheme":         {"GET", "http://a/x", "ftp://a:80/x", 1, false},
		"the last":       {"GET", "http://a/x", "http://a/y", maxRedirects, true},
		"one too many":   {"GET", "http://a/x", "http://a/y", maxRedirects + 1, false},
		"host":           {"POST", "http://a/x", "http://b/x", 1, false},
		"name below":     {"GET", "http://a/x", "http://b.a/x", 1, false},
		"out of TLS":     {"POST", "https://a/x", "http://a/x", 1, false},
		"without a body": {"GET", "http://a/x", "http://a/y", 1, true},
	} {
		t.Run(name, func(t *testing.T) {
			first := must.Get(http.NewRequestWithContext(t.Context(), test.method, test.from, http.NoBody))(t)
			next := must.Get(http.NewRequestWithContext(t.Context(), test.method, test.to, http.NoBody))(t)
			err := sameHost(next, slices.Repeat([]*http.Request{first}, test.earlier))
			if test.follows {
				assert.NoError(t, err)
			} else {
				assert.ErrorIs(t, err, http.ErrUseLastResponse)
			}
		})
	}
	post := must.Get(http.NewRequestWithContext(t.Context(), http.MethodPost, "http://a/x", http.NoBody))(t)
	get := must.Get(http.NewRequestWithContext(t.Context(), http.MethodGet, "http://a/y", http.NoBody))(t)
	assert.ErrorIs(t, sameHost(get, []*http.Request{post}), http.ErrUseLastResponse, "the body would stay behind")
	back := must.Get(http.NewRequestWithContext(t.Context(), http.MethodGet, "https://a/y", http.NoBody))(t)
	assert.ErrorIs(t, sameHost(get, []*http.Request{get, back}), http.ErrUseLastResponse, "it came by TLS")
}
