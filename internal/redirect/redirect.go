// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package redirect says which redirects a client of ours follows.
package redirect

import "net/http"

// Limit is how many redirects of one request are followed.
const Limit = 5

// SameHost is a http.Client.CheckRedirect that stays with the host that was asked: confighttp's headers and authenticators
// give their secrets to each request, also to one that a redirect sends elsewhere. Ports may differ, but TLS is not left. A
// redirect that also drops the body (301 to 303 of a POST) is not followed either: it ends at a page, such as one to log in,
// that answers 200 and takes nothing. What is not followed is the answer, with its own status.
func SameHost(next *http.Request, earlier []*http.Request) error {
	first := earlier[0]
	leavesTLS := first.URL.Scheme == "https" && next.URL.Scheme != "https"
	if next.Method != first.Method || next.URL.Hostname() != first.URL.Hostname() || leavesTLS || len(earlier) > Limit {
		return http.ErrUseLastResponse
	}
	return nil
}
