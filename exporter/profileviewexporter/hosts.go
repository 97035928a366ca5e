// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profileviewexporter // import "github.com/otelpprof/otelpprof/exporter/profileviewexporter"

import (
	"net"
	"net/http"
	"strings"
)

// maxQuery is the length of the query of a request. All that reads it is linear in that.
const maxQuery = 8 << 10

// anyHost in allowed_hosts stands for every name.
const anyHost = "*"

// allowedHosts returns the names that requests may use for the server, none for every name. On the loopback address they
// are bounded: a name of somebody else's, which he lets lead there, would have browsers show him the pages.
func allowedHosts(cfg *Config, listener net.Addr) map[string]bool {
	names := cfg.AllowedHosts
	if len(names) == 0 {
		address, isTCP := listener.(*net.TCPAddr)
		if !isTCP || !address.IP.IsLoopback() {
			return nil
		}
		names = []string{"localhost", "127.0.0.1", "::1", hostName(cfg.HTTP.NetAddr.Endpoint)}
	}
	allowed := make(map[string]bool, len(names))
	for _, name := range names {
		if name == anyHost {
			return nil
		}
		allowed[hostName(name)] = true
	}
	return allowed
}

// hostName returns the name in host, host:port, [host]:port and [host].
func hostName(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return strings.ToLower(strings.TrimSuffix(strings.Trim(host, "[]"), "."))
}

// guarded refuses requests for other names than those of the server, and queries that are too long, before anything else.
func (p *pages) guarded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case p.hosts != nil && !p.hosts[hostName(r.Host)]:
			http.Error(w, "the host of the request is not one of this server; the option allowed_hosts of the exporter has the names that are", http.StatusForbidden)
		case len(r.URL.RawQuery) > maxQuery:
			http.Error(w, "the query has more than 8192 bytes", http.StatusRequestURITooLong)
		default:
			next.ServeHTTP(w, r)
		}
	})
}
