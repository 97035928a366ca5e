// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package adversary

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// measurement is what one body did to one configuration. It is a line of the record.
type measurement struct {
	Configuration string  `json:"configuration"`
	ContainerMiB  int     `json:"container_mib"`
	Body          string  `json:"body"`
	To            string  `json:"to"`
	WireBytes     int     `json:"wire_bytes"`
	Times         int     `json:"times"`
	Answers       string  `json:"answers"`
	PeakMiB       int     `json:"peak_mib"`
	Seconds       float64 `json:"seconds"`
	HonestSeconds float64 `json:"honest_seconds"`
	Failed        bool    `json:"failed"`
}

func (m *measurement) String() string {
	return fmt.Sprintf("%s in %d MiB: %s, %d bytes ×%d: %s; peak %d MiB, %.1f s, honest within %.1f s",
		m.Configuration, m.ContainerMiB, m.Body, m.WireBytes, m.Times, m.Answers, m.PeakMiB, m.Seconds, m.HonestSeconds)
}

func recordPath() string { return os.Getenv(recordVariable) }

// record adds the measurement to the record, if there is one.
func (m *measurement) record(t *testing.T) {
	t.Helper()
	path := recordPath()
	if path == "" {
		return
	}
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	require.NoError(t, err)
	require.NoError(t, json.NewEncoder(file).Encode(m))
	require.NoError(t, file.Close())
}

// readRecord returns the measurements of a record, of each kind the last.
func readRecord(t *testing.T, path string) []measurement {
	t.Helper()
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	var all []measurement
	index := map[string]int{}
	for lines := bufio.NewScanner(bytes.NewReader(content)); lines.Scan(); {
		var m measurement
		require.NoError(t, json.Unmarshal(lines.Bytes(), &m))
		key := fmt.Sprint(m.Configuration, m.ContainerMiB, m.Body, m.Times)
		if i, seen := index[key]; seen {
			all[i] = m
			continue
		}
		index[key] = len(all)
		all = append(all, m)
	}
	return all
}
