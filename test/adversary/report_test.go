// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package adversary

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

const (
	securityDocument   = root + "/docs/security.md"
	operationsDocument = root + "/docs/operations.md"

	tableBegin = "<!-- `make adversary` writes from here -->\n"
	tableEnd   = "<!-- to here -->\n"
)

// writeDocuments writes the tables of a record, and holds the formula against them. Where only a part of the configurations was
// measured, rows of the others stay, and peaks of bodies can only grow.
func writeDocuments(t *testing.T, record string) {
	t.Helper()
	all := readRecord(t, record)
	earlier := readBodyRows(t)
	if coversAll(all) {
		earlier = nil
	}
	rows := bodyRows(all, earlier)
	writeBodyRows(t, rows)
	replaceTable(t, securityDocument, targetTable(rows))
	replaceTable(t, operationsDocument, peakTable(t, all))
}

// coversAll tells whether each configuration was measured in containers of each size.
func coversAll(all []measurement) bool {
	measured := map[string]bool{}
	for _, m := range all {
		measured[fmt.Sprint(m.Configuration, m.ContainerMiB)] = true
	}
	return len(measured) == len(configurations)*len(extents["full"].sizes)
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

// peakTable has a row for each configuration, and a column for each container: the largest peak. A cell that was not measured is
// that of the document. The head of the table has the result of the formula.
func peakTable(t *testing.T, all []measurement) string {
	t.Helper()
	document, err := os.ReadFile(operationsDocument)
	require.NoError(t, err)
	sizes := extents["full"].sizes
	var out strings.Builder
	out.WriteString("| configuration |")
	for _, mib := range sizes {
		fmt.Fprintf(&out, " container of %d MiB: largest measured, by the formula %d MiB |", mib, memoryOf(mib).largest())
	}
	out.WriteString("\n|---|" + strings.Repeat("---:|", len(sizes)) + "\n")
	for _, s := range configurations {
		_, written, _ := strings.Cut(string(document), fmt.Sprintf("\n| `%s` |", s.name))
		written, _, _ = strings.Cut(written, "\n")
		row, measured := "", written != ""
		for _, mib := range sizes {
			cell, rest, _ := strings.Cut(written, "|")
			written = rest
			peak, bodies := 0, map[string]bool{}
			for _, m := range all {
				if m.Configuration == s.name && m.ContainerMiB == mib {
					peak, bodies[m.Body] = max(peak, m.PeakMiB), true
				}
			}
			if peak == 0 {
				row += cell + "|"
				continue
			}
			largest := memoryOf(mib).largest()
			row, measured = row+fmt.Sprintf(" %d MiB |", peak), true
			assert.LessOrEqual(t, peak, largest, "%s in %d MiB", s.name, mib)
			if len(bodies) >= 60 && s.front == "" { // What only reads from Kafka has few requests at a time.
				assert.GreaterOrEqual(t, 2*peak, largest, "%s in %d MiB: the formula says too much", s.name, mib)
			}
		}
		if measured {
			fmt.Fprintf(&out, "| `%s` |%s\n", s.name, row)
		}
	}
	return out.String()
}

// TestDocuments: the table of bodies in the document is made of the measured ones, all of them are still sent, and the
// document of operators has its table.
func TestDocuments(t *testing.T) {
	known := map[string]bool{}
	for _, b := range bodies() {
		known[b.name] = true
	}
	rows := readBodyRows(t)
	for _, row := range rows {
		assert.True(t, known[row.name], "%s has a row of %s, which is not sent", measuredBodies, row.name)
	}
	for path, table := range map[string]string{securityDocument: targetTable(rows), operationsDocument: peakTable(t, nil)} {
		content, err := os.ReadFile(path)
		require.NoError(t, err)
		assert.Contains(t, string(content), tableBegin+table, path)
		assert.Contains(t, string(content), tableEnd, path)
	}
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// extent says how much of the matrix is run.
type extent struct {
	configurations []shipped
	// partly says that a configuration only gets the bodies that are for it alone.
	partly []string
	// sizes are those of the containers, in MiB, and times how often a body is sent at once.
	sizes, times []int
	// together is how many bodies are sent to one process.
	together int
}

const (
	modeVariable   = "OTELPPROF_ADVERSARY"
	binaryVariable = "OTELPPROF_BINARY"
	// recordVariable names a file that a line is added to for each measurement, and the documents are made from.
	recordVariable = "OTELPPROF_ADVERSARY_RECORD"
)

var extents = map[string]extent{
	"ci":   {configurations: chosen("gateway", "splunk", "scrape", "discovery", "kafka-back", "ebpf"), partly: []string{"scrape", "discovery", "kafka-back", "ebpf"}, sizes: []int{512}, times: []int{8}, together: 1000},
	"full": {configurations: configurations, sizes: []int{512, 2048}, times: []int{1, 8, 64}, together: 10},
}

func extentOf(t *testing.T) extent {
	t.Helper()
	mode := os.Getenv(modeVariable)
	if mode == "" {
		t.Skip(modeVariable + " is not set: run `make adversary-ci`, which takes minutes, or `make adversary`, which takes hours")
	}
	e, known := extents[mode]
	require.True(t, known, "%s is %q, it must be ci or full", modeVariable, mode)
	return e
}

func distribution(t *testing.T) string {
	t.Helper()
	path := os.Getenv(binaryVariable)
	require.NotEmpty(t, path, "%s does not name the built distribution", binaryVariable)
	return path
}
