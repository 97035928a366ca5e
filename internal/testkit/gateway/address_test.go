// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"net"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestFreeAddresses: none is given twice, a server can have each, and no outgoing connection gets one by chance.
func TestFreeAddresses(t *testing.T) {
	seen := map[string]bool{}
	for range 40 {
		addresses, err := FreeAddresses(t.Context(), 5)
		require.NoError(t, err)
		require.Len(t, addresses, 5)
		for _, address := range addresses {
			assert.False(t, seen[address], address)
			seen[address] = true
			listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", address)
			require.NoError(t, err)
			assert.Less(t, listener.Addr().(*net.TCPAddr).Port, 32768)
			require.NoError(t, listener.Close())
		}
	}
}
