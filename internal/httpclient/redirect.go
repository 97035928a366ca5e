// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package httpclient

import (
	"net/http"
	"net/url"
	"strings"
)

// maxRedirects is how many redirects of one request are followed.
const maxRedirects = 5

// standardPorts are the ports of URLs without a port.
var standardPorts = map[string]string{"http": "80", "https": "443"}

// sameHost is a http.Client.CheckRedirect that follows redirects to the same host and port only. The headers and
// authenticators of confighttp add their credentials to each request, also to redirected ones. A redirect from HTTP to TLS is
// followed on the standard ports, one from TLS to HTTP is not. A redirect that drops the body (301 to 303 of a POST) is not
// followed either: it leads to a page, such as a login, that answers 200 and discards the request. A redirect that is not
// followed is returned as the response.
func sameHost(next *http.Request, earlier []*http.Request) error {
	last := earlier[len(earlier)-1]
	if next.Method != last.Method || !stays(last.URL, next.URL) || len(earlier) > maxRedirects {
		return http.ErrUseLastResponse
	}
	return nil
}

// stays reports whether both URLs have the same host and port, or to is the TLS server of the same host.
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
