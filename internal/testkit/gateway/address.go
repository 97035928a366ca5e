// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
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

// listening is the state of a TCP socket that accepts connections, in /proc/net/tcp.
const listening = "0A"

// Listeners returns the ports on which the gateway accepts TCP connections. It reads /proc, so it works on Linux only.
func (g *Gateway) Listeners() (ports []int, err error) {
	directory := fmt.Sprintf("/proc/%d", g.PID())
	sockets, err := socketsOf(directory + "/fd")
	if err != nil {
		return nil, fmt.Errorf("cannot find the listeners of the gateway: %w", err)
	}
	for _, table := range []string{"/net/tcp", "/net/tcp6"} {
		content, err := os.ReadFile(directory + table)
		if err != nil {
			return nil, fmt.Errorf("cannot find the listeners of the gateway: %w", err)
		}
		for line := range strings.Lines(string(content)) {
			fields := strings.Fields(line)
			if len(fields) < 10 || fields[3] != listening || !sockets["socket:["+fields[9]+"]"] {
				continue
			}
			_, text, _ := strings.Cut(fields[1], ":")
			port, err := strconv.ParseInt(text, 16, 32)
			if err != nil {
				return nil, fmt.Errorf("cannot find the listeners of the gateway: %w", err)
			}
			ports = append(ports, int(port))
		}
	}
	return ports, nil
}

// socketsOf returns the targets of the links of a directory of file descriptors.
func socketsOf(directory string) (map[string]bool, error) {
	files, err := os.ReadDir(directory)
	if err != nil {
		return nil, err
	}
	sockets := make(map[string]bool, len(files))
	for _, file := range files {
		// A file that was closed meanwhile is no listener.
		if target, err := os.Readlink(filepath.Join(directory, file.Name())); err == nil {
			sockets[target] = true
		}
	}
	return sockets, nil
}
