// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package adversary

import (
	"encoding/csv"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelpprof/otelpprof/test/tools/digits"
)

// measuredBodies has the row of each body.
const measuredBodies = "measured.csv"

var bodyColumns = []string{"body", "to", "bytes on the wire", "MiB at most in 512 MiB", "MiB at most in 2 GiB", "answers to 8 at once"}

// bodyRow is what was measured of a body: the largest peak of all configurations, by container, and the answers to the first
// configuration that was measured.
type bodyRow struct {
	name, to   string
	wireBytes  int
	small, big int
	answers    string
}

func bodyRows(all []measurement) (rows []bodyRow) {
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
			rows = append(rows, bodyRow{b.name, string(b.to), one.WireBytes, peaks[512], peaks[2048], one.Answers})
		}
	}
	return rows
}

func writeBodyRows(t *testing.T, rows []bodyRow) {
	t.Helper()
	var out strings.Builder
	w := csv.NewWriter(&out)
	require.NoError(t, w.Write(bodyColumns))
	for _, r := range rows {
		require.NoError(t, w.Write([]string{r.name, r.to, strconv.Itoa(r.wireBytes), strconv.Itoa(r.small), strconv.Itoa(r.big), r.answers}))
	}
	w.Flush()
	require.NoError(t, w.Error())
	require.NoError(t, os.WriteFile(measuredBodies, []byte(out.String()), 0o644))
}

func readBodyRows(t *testing.T) (rows []bodyRow) {
	t.Helper()
	file, err := os.Open(measuredBodies)
	require.NoError(t, err)
	defer file.Close()
	records, err := csv.NewReader(file).ReadAll()
	require.NoError(t, err)
	require.Equal(t, bodyColumns, records[0])
	for _, r := range records[1:] {
		row := bodyRow{name: r[0], to: r[1], answers: r[5]}
		for i, n := range []*int{&row.wireBytes, &row.small, &row.big} {
			*n, err = strconv.Atoi(r[2+i])
			require.NoError(t, err, row.name)
		}
		rows = append(rows, row)
	}
	return rows
}

// targetTable has a row for all bodies that go to the same listener.
func targetTable(rows []bodyRow) string {
	targets := map[string][]bodyRow{}
	var order []string
	for _, r := range rows {
		if targets[r.to] == nil {
			order = append(order, r.to)
		}
		targets[r.to] = append(targets[r.to], r)
	}
	var out strings.Builder
	out.WriteString("| to | bodies | largest on the wire, bytes | largest peak in 512 MiB | in 2 GiB |\n|---|---:|---:|---:|---:|\n")
	for _, to := range order {
		var all bodyRow
		for _, r := range targets[to] {
			all.wireBytes, all.small, all.big = max(all.wireBytes, r.wireBytes), max(all.small, r.small), max(all.big, r.big)
		}
		fmt.Fprintf(&out, "| %s | %d | %s | %d MiB | %d MiB |\n", to, len(targets[to]), digits.Group(int64(all.wireBytes)), all.small, all.big)
	}
	return out.String()
}
