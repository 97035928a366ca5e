// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"fmt"
	"os"
	"strings"
)

// Process is what the system says of the running gateway.
type Process struct {
	// Resident is the memory held now and Peak the most that was ever held, in bytes.
	Resident, Peak int64
	// Files is the number of open files and sockets.
	Files int
}

// Process reads /proc, so it works on Linux only.
func (g *Gateway) Process() (Process, error) {
	var p Process
	directory := fmt.Sprintf("/proc/%d", g.PID())
	status, err := os.ReadFile(directory + "/status")
	if err != nil {
		return p, fmt.Errorf("cannot read the memory of the gateway: %w", err)
	}
	for line := range strings.Lines(string(status)) {
		name, value, _ := strings.Cut(line, ":")
		switch name {
		case "VmRSS":
			p.Resident, err = kilobytes(value)
		case "VmHWM":
			p.Peak, err = kilobytes(value)
		}
		if err != nil {
			return p, err
		}
	}
	files, err := os.ReadDir(directory + "/fd")
	if err != nil {
		return p, fmt.Errorf("cannot count the open files of the gateway: %w", err)
	}
	p.Files = len(files)
	return p, nil
}

func kilobytes(value string) (int64, error) {
	var n int64
	if _, err := fmt.Sscanf(value, "%d kB", &n); err != nil {
		return 0, fmt.Errorf("cannot read the amount of memory %q: %w", value, err)
	}
	return n << 10, nil
}
