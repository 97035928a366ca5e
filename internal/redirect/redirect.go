// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package redirect says which redirects a client of ours follows.
package redirect

import (
	"net/http"
	"net/url"
	"strings"
)

// Limit is how many redirects of one request are followed.
const Limit = 5

// standardPorts are those that a URL means which names none.
var standardPorts = map[string]string{"http": "80", "https": "443"}

// SameHost is a http.Client.CheckRedirect that stays with the host and the port that were asked: confighttp's headers and
// authenticators give their secrets to each request, also to one that a redirect sends elsewhere. From HTTP to TLS it goes on
// the standard ports, and TLS is not left. A redirect that also drops the body (301 to 303 of a POST) is not followed either: it
// ends at a page, such as one to log in, that answers 200 and takes nothing. What is not followed is the answer, with its own
// status.
func SameHost(next *http.Request, earlier []*http.Request) error {
	last := earlier[len(earlier)-1]
	if next.Method != last.Method || !stays(last.URL, next.URL) || len(earlier) > Limit {
		return http.ErrUseLastResponse
	}
	return nil
}

// stays reports whether to is where from is, or there by TLS.
func stays(from, to *url.URL) bool {
	if !strings.EqualFold(from.Hostname(), to.Hostname()) {
		return false
	}
	if from.Scheme == to.Scheme {
		return port(from) == port(to)
	}
	return from.Scheme == "http" && port(from) == standardPorts["http"] && to.Scheme == "https" && port(to) == standardPorts["https"]
}

func port(u *url.URL) string {
	if port := u.Port(); port != "" {
		return port
	}
	return standardPorts[u.Scheme]
}
