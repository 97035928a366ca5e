// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profileviewexporter

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
)

// Without a wait, a request is refused only if no place is free.
func TestAcquireWithoutWaiting(t *testing.T) {
	d := newHolding(t, 1<<20)
	d.cfg.ConcurrencyWait = 0
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", http.NoBody)
	for range 100 {
		first, err := d.pages.acquire(r)
		require.NoError(t, err, "both places are free")
		second, err := d.pages.acquire(r)
		require.NoError(t, err, "one place is free")
		_, err = d.pages.acquire(r)
		require.ErrorContains(t, err, "the limit of 2 concurrent requests is reached")
		first()
		second()
	}
}
