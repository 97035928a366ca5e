// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package connections

import (
	"fmt"
	"net/http"
	"time"
)

const (
	// MaxHeaderBytes is how large the header of a request may be. Tokens of identity providers have up to 8 KiB.
	MaxHeaderBytes = 16 << 10
	// headerSlack is what net/http accepts above the limit that it is given.
	headerSlack = 4 << 10
	// MaxFields is how many fields a header may have. A header of MaxHeaderBytes with this many takes less than 40 KiB.
	MaxFields = 128
)

// CheckFields returns an error if a header has too many fields.
func CheckFields(header map[string][]string) error {
	fields := 0
	for _, values := range header {
		fields += len(values)
	}
	if fields > MaxFields {
		return fmt.Errorf("the header has %d fields, the limit is %d", fields, MaxFields)
	}
	return nil
}

// limitFields returns a handler that refuses requests with too many fields in the header, and forgets the header at once.
func limitFields(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		err := CheckFields(r.Header)
		if err == nil {
			next.ServeHTTP(w, r)
			return
		}
		r.Header = nil
		w.Header().Set("Connection", "close")
		// Without support for deadlines, the timeout of the server ends the request.
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(drainTime))
		http.Error(w, err.Error(), http.StatusRequestHeaderFieldsTooLarge)
	})
}
