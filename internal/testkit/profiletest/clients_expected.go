// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profiletest

import (
	"encoding/csv"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// ClientPayload is one pprof that a client sent, with what is known of it (a row of testdata/clients/EXPECTED.tsv).
type ClientPayload struct {
	// File is the name of the capture, Part the place in its body.
	File, Part string
	// Data is the pprof in the compression of the client.
	Data []byte

	// Legacy: the payload is one of the older text formats, and nothing else is known.
	Legacy        bool
	InflatedBytes int
	// SampleTypes are type/unit, in the order of the payload, as are the ValueSums over all samples.
	SampleTypes []string
	ValueSums   []int64
	Samples     int
	// DistinctStackAndLabels is the number of samples that remain when equal ones are combined.
	DistinctStackAndLabels                 int
	DistinctStacks                         int
	Locations, Functions, Mappings         int
	PeriodType                             string
	Period, Time, Duration                 int64
	DefaultSampleType                      string
	StringLabels, NumLabels                map[string]int
	SamplesWithSpanLabel, SamplesOfAllZero int
}

// ClientPayloads returns all pprofs that the captures hold.
func ClientPayloads(tb testing.TB) []ClientPayload {
	tb.Helper()
	captures := map[string]Capture{}
	for _, c := range Captures(tb) {
		captures[c.Name] = c
	}
	file, err := os.Open(Testdata(tb, "clients", "EXPECTED.tsv"))
	require.NoError(tb, err)
	defer file.Close()
	rows := csv.NewReader(file)
	rows.Comma = '\t'
	rows.LazyQuotes = true
	records, err := rows.ReadAll()
	require.NoError(tb, err)

	payloads := make([]ClientPayload, 0, len(records)-1)
	for _, record := range records[1:] {
		row := map[string]string{}
		for i, cell := range record {
			if cell != "-" {
				row[records[0][i]] = cell
			}
		}
		capture, ok := captures[row["file"]]
		require.True(tb, ok, "no capture %s", row["file"])
		payload := clientPayload(tb, row)
		payload.Part = record[1]
		payload.Data = capture.Payload(tb, payload.Part)
		payloads = append(payloads, payload)
	}
	return payloads
}

func clientPayload(tb testing.TB, row map[string]string) ClientPayload {
	tb.Helper()
	number := func(column string) int64 {
		if row[column] == "" {
			return 0
		}
		n, err := strconv.ParseInt(row[column], 10, 64)
		require.NoError(tb, err, "%s of %s", column, row["file"])
		return n
	}
	count := func(column string) int { return int(number(column)) }
	p := ClientPayload{
		File: row["file"], Legacy: strings.HasPrefix(row["sample_types"], "(legacy"),
		InflatedBytes: count("inflated_bytes"), Samples: count("samples"),
		DistinctStackAndLabels: count("distinct_stack_and_labels"), DistinctStacks: count("distinct_stacks"),
		Locations: count("locations"), Functions: count("functions"), Mappings: count("mappings"),
		PeriodType: row["period_type"], Period: number("period"), Time: number("time_unix_nano"), Duration: number("duration_nano"),
		DefaultSampleType: row["default_sample_type"],
		StringLabels:      labelCounts(tb, row["string_labels"]), NumLabels: labelCounts(tb, row["num_labels"]),
		SamplesWithSpanLabel: count("samples_with_span_label"), SamplesOfAllZero: count("samples_all_zero"),
	}
	if !p.Legacy {
		p.SampleTypes = strings.Split(row["sample_types"], ",")
		for sum := range strings.SplitSeq(row["value_sums"], ",") {
			n, err := strconv.ParseInt(sum, 10, 64)
			require.NoError(tb, err)
			p.ValueSums = append(p.ValueSums, n)
		}
	}
	return p
}

// labelCounts reads key=count,key=count.
func labelCounts(tb testing.TB, text string) map[string]int {
	tb.Helper()
	counts := map[string]int{}
	for pair := range strings.SplitSeq(text, ",") {
		if key, n, ok := strings.Cut(pair, "="); ok {
			count, err := strconv.Atoi(n)
			require.NoError(tb, err)
			counts[key] = count
		}
	}
	return counts
}
