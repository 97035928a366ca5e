// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
)

// Ports below those that systems give to outgoing connections (from 32768 on Linux, 49152 elsewhere): one of these stays
// free until the server that it is meant for listens, however many connections are made meanwhile.
const (
	firstPort = 12000
	lastPort  = 32000
)

var (
	givenMutex sync.Mutex
	given      = map[int]bool{}
)

// FreeAddresses returns n loopback addresses that nothing listens on and that this process was not given before. Another
// process may take one before it is used, by a chance of about one in 20,000; whoever starts a server then sees it fail.
func FreeAddresses(ctx context.Context, n int) ([]string, error) {
	givenMutex.Lock()
	defer givenMutex.Unlock()
	addresses := make([]string, 0, n)
	lastErr := errors.New("all were given to this process before")
	for tries := 0; len(addresses) < n; tries++ {
		if tries > 1000 {
			return nil, fmt.Errorf("cannot find %d free ports from %d to %d: %w", n, firstPort, lastPort, lastErr)
		}
		port := firstPort + rand.IntN(lastPort-firstPort) //nolint:gosec // it only has to differ from others'
		if given[port] {
			continue
		}
		address := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
		if lastErr = tryListening(ctx, address); lastErr == nil {
			given[port] = true
			addresses = append(addresses, address)
		}
	}
	return addresses, nil
}

func tryListening(ctx context.Context, address string) error {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return err
	}
	return listener.Close()
}
