// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"context"
	"fmt"
	"net"
)

// FreeAddresses returns n different loopback addresses that nothing listens on. Another process may take one before it
// is used; whoever starts a server then sees it fail.
func FreeAddresses(ctx context.Context, n int) ([]string, error) {
	addresses := make([]string, n)
	var listen net.ListenConfig
	for i := range addresses {
		listener, err := listen.Listen(ctx, "tcp", "127.0.0.1:0")
		if err != nil {
			return nil, fmt.Errorf("cannot find a free port: %w", err)
		}
		// All stay open until each has its own.
		defer listener.Close() //nolint:gocritic // n is small, and closing them all at the end is the point
		addresses[i] = listener.Addr().String()
	}
	return addresses, nil
}
