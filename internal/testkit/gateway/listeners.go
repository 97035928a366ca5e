// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

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
