// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package adversary

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const (
	securityDocument   = root + "/docs/security.md"
	operationsDocument = root + "/docs/operations.md"

	tableBegin = "<!-- `make adversary` writes from here -->\n"
	tableEnd   = "<!-- to here -->\n"
)

// writeDocuments puts the tables of a record into the documents, and holds the formula against them.
func writeDocuments(t *testing.T, record string) {
	t.Helper()
	all := readRecord(t, record)
	replaceTable(t, securityDocument, bodyTable(all))
	replaceTable(t, operationsDocument, peakTable(t, all))
}

func replaceTable(t *testing.T, path, table string) {
	t.Helper()
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	before, rest, found := strings.Cut(string(content), tableBegin)
	require.True(t, found, "%s has no %s", path, tableBegin)
	_, after, found := strings.Cut(rest, tableEnd)
	require.True(t, found, "%s has no %s", path, tableEnd)
	require.NoError(t, os.WriteFile(path, []byte(before+tableBegin+table+tableEnd+after), 0o644))
}

// bodyTable has a row for each body: the largest peak of all configurations, and the answers to the first that was measured.
func bodyTable(all []measurement) string {
	var out strings.Builder
	out.WriteString("| body | to | bytes on the wire | largest peak in 512 MiB | in 2 GiB | answers to 8 at once |\n|---|---|---|---|---|---|\n")
	for _, b := range bodies() {
		peaks := map[int]int{}
		var one *measurement
		for i := range all {
			m := &all[i]
			if m.Body != b.name {
				continue
			}
			peaks[m.ContainerMiB] = max(peaks[m.ContainerMiB], m.PeakMiB)
			if one == nil || one.Times != hostileTargets && m.Times == hostileTargets {
				one = m
			}
		}
		if one != nil {
			fmt.Fprintf(&out, "| `%s` | %s | %s | %s | %s | %s |\n", b.name, b.to, thousands(one.WireBytes), mebibytes(peaks[512]), mebibytes(peaks[2048]), one.Answers)
		}
	}
	return out.String()
}

func mebibytes(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("%d MiB", n)
}

func thousands(n int) string {
	text := strconv.Itoa(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// peakTable has a row for each configuration and container: the largest peak, and what the formula says.
func peakTable(t *testing.T, all []measurement) string {
	t.Helper()
	var out strings.Builder
	out.WriteString("| configuration | container | largest measured | largest by the formula |\n|---|---|---|---|\n")
	for _, s := range configurations {
		for _, mib := range extents["full"].sizes {
			peak, bodies := 0, map[string]bool{}
			for _, m := range all {
				if m.Configuration == s.name && m.ContainerMiB == mib {
					peak, bodies[m.Body] = max(peak, m.PeakMiB), true
				}
			}
			if peak == 0 {
				continue
			}
			largest := memoryOf(mib).largest()
			fmt.Fprintf(&out, "| `%s` | %d MiB | %d MiB | %d MiB |\n", s.name, mib, peak, largest)
			assert.LessOrEqual(t, peak, largest, "%s in %d MiB", s.name, mib)
			if len(bodies) >= 60 {
				assert.GreaterOrEqual(t, 2*peak, largest, "%s in %d MiB: the formula says too much", s.name, mib)
			}
		}
	}
	return out.String()
}

// TestDocuments: both documents have the place for their table, and the one of bodies names no other than there are.
func TestDocuments(t *testing.T) {
	known := map[string]bool{}
	for _, b := range bodies() {
		known[b.name] = true
	}
	for _, path := range []string{securityDocument, operationsDocument} {
		content, err := os.ReadFile(path)
		require.NoError(t, err)
		_, table, found := strings.Cut(string(content), tableBegin)
		require.True(t, found, filepath.Base(path))
		table, _, found = strings.Cut(table, tableEnd)
		require.True(t, found, filepath.Base(path))
		if path == operationsDocument {
			continue
		}
		for row := range strings.Lines(table) {
			if name, _, isBody := strings.Cut(strings.TrimPrefix(row, "| `"), "`"); isBody {
				assert.True(t, known[name], "docs/security.md has a row of %s, which is not sent", name)
			}
		}
	}
}
