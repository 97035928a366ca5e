// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profileviewexporter // import "github.com/otelpprof/otelpprof/exporter/profileviewexporter"

import "net/http"

// withoutOtherSites refuses requests that a browser makes for a page of another site, which could cost work and change the state of a
// scraper. Links of other sites and the origins that the option cors allows are accepted.
func withoutOtherSites(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cross-Origin-Resource-Policy", "same-origin")
		// The handler for CORS comes first, and has checked the origin.
		origin, allowed := r.Header.Get("Origin"), w.Header().Get("Access-Control-Allow-Origin")
		isAllowed := origin != "" && (allowed == origin || allowed == "*")
		if isForeign(r) && !isAllowed {
			http.Error(w, "a page of another site has made this request (Sec-Fetch-Site); only links without the parameter scraper are accepted from there, or origins of the option cors",
				http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// isForeign returns whether a browser makes the request for a page of another site, and the user does not see the answer as a page.
func isForeign(r *http.Request) bool {
	if site := r.Header.Get("Sec-Fetch-Site"); site != "cross-site" && site != "same-site" {
		return false
	}
	isLink := r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Header.Get("Sec-Fetch-Dest") == "document"
	return !isLink || r.URL.Query().Get(scraperParameter) != ""
}
