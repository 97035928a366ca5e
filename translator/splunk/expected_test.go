// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package splunk

import (
	"encoding/csv"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/testkit/must"
	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
)

func frameText(function, file string, line, column int64) string {
	return fmt.Sprintf("%s(%s:%d:%d)", function, file, line, column)
}

// facts has the columns that EXPECTED.tsv counts for a whole request.
type facts map[string]string

// expectedFacts returns the rows of EXPECTED.tsv by file.
func expectedFacts(t *testing.T) map[string]facts {
	t.Helper()
	file := must.Get(os.Open(profiletest.Testdata(t, "splunk", "EXPECTED.tsv")))(t)
	defer file.Close()
	reader := csv.NewReader(file)
	reader.Comma = '\t'
	rows := must.Get(reader.ReadAll())(t)
	expected := map[string]facts{}
	for _, row := range rows[1:] {
		f := facts{}
		for i, column := range rows[0] {
			f[column] = row[i]
		}
		expected[f["file"]] = f
	}
	return expected
}

// count computes the same facts from profiles.
func count(pd pprofile.Profiles, result Result) facts {
	numbers := map[string]uint64{"first_time_unix_nano": 1 << 63}
	stacks, links, threads, names := map[string]bool{}, map[int32]bool{}, map[any]bool{}, map[any]bool{}
	var valueSum, periodSum uint64
	for _, p := range profilesOf(pd) {
		kind := sampleTypeOf(pd, p)
		for _, s := range p.Samples().All() {
			events := uint64(s.TimestampsUnixNano().Len())
			numbers["samples"] += events
			frames := framesOf(pd, s)
			numbers["frames"] += events * uint64(len(frames))
			if len(frames) == 0 {
				numbers["empty_stacks"] += events
			} else {
				stacks[stackText(pd, s)] = true
			}
			for i, at := range s.TimestampsUnixNano().All() {
				numbers["first_time_unix_nano"] = min(numbers["first_time_unix_nano"], at)
				numbers["last_time_unix_nano"] = max(numbers["last_time_unix_nano"], at)
				switch kind {
				case "cpu/nanoseconds":
					periodSum += uint64(s.Values().At(i))
				case "alloc_space/bytes":
					valueSum += uint64(s.Values().At(i))
				}
			}
			link := pd.Dictionary().LinkTable().At(int(s.LinkIndex()))
			switch {
			case !link.SpanID().IsEmpty():
				numbers["samples_with_trace_and_span"] += events
			case !link.TraceID().IsEmpty():
				numbers["samples_with_trace_only"] += events
			}
			if s.LinkIndex() != 0 {
				links[s.LinkIndex()] = true
			}
			attributes := attributesOf(pd, s.AttributeIndices())
			if id, found := attributes["thread.id"]; found {
				threads[id] = true
			}
			if name, found := attributes["thread.name"]; found {
				names[name] = true
			}
			if attributes["thread.stack.truncated"] == true {
				numbers["truncated"] += events
			}
		}
	}
	found := facts{
		"stacks":         strconv.Itoa(len(stacks)),
		"distinct_links": strconv.Itoa(len(links)),
		"thread_ids":     strconv.Itoa(len(threads)),
		"thread_names":   strconv.Itoa(len(names)),
		"skipped_lines":  strconv.Itoa(result.Repairs.SkippedLines),
		"period_sum_ms":  strconv.FormatUint(periodSum/nanosPerMilli, 10),
		"value_sum":      strconv.FormatUint(valueSum, 10),
		"records":        strconv.Itoa(result.Records),
	}
	for _, column := range []string{
		"samples", "frames", "empty_stacks", "first_time_unix_nano", "last_time_unix_nano",
		"samples_with_trace_and_span", "samples_with_trace_only", "truncated",
	} {
		found[column] = strconv.FormatUint(numbers[column], 10)
	}
	return found
}

// TestCapturesHoldWhatIsExpected compares each request of each agent with its row.
func TestCapturesHoldWhatIsExpected(t *testing.T) {
	expected := expectedFacts(t)
	files := captures(t)
	require.Len(t, files, len(expected))
	for _, c := range files {
		t.Run(c.name, func(t *testing.T) {
			want := expected[c.name]
			require.NotNil(t, want)
			pd, result := mustDecode(t, c.logs(t), Options{})
			got := count(pd, result)
			if want["value_sum"] == want["period_sum_ms"]+"000000" {
				// The only one whose values are already in nanoseconds.
				got["value_sum"] = want["value_sum"]
			}
			for column, value := range got {
				assert.Equal(t, want[column], value, column)
			}
			resource := pd.ResourceProfiles().At(0)
			assertAttribute(t, want["service_name"], resource, "service.name")
			assertAttribute(t, want["language"], resource, "telemetry.sdk.language")
			assert.Equal(t, want["scope_version"], resource.ScopeProfiles().At(0).Scope().Version())
			for _, p := range profilesOf(pd) {
				source := attributesOf(pd, p.AttributeIndices())["profiling.instrumentation.source"]
				if want["source"] == "-" {
					assert.Nil(t, source)
				} else {
					assert.Equal(t, want["source"], source)
				}
			}
		})
	}
}

func assertAttribute(t *testing.T, want string, resource pprofile.ResourceProfiles, key string) {
	t.Helper()
	value, found := resource.Resource().Attributes().Get(key)
	require.True(t, found, key)
	assert.Equal(t, want, value.AsString())
}

var update = flag.Bool("update", false, "update the golden files in testdata/splunk")

// TestGolden compares the profiles of each capture with a readable text. To update the files, run go test
// ./translator/splunk -run TestGolden -update.
func TestGolden(t *testing.T) {
	for _, c := range captures(t) {
		t.Run(c.name, func(t *testing.T) {
			pd, _ := mustDecode(t, c.logs(t), Options{})
			var text strings.Builder
			text.WriteString(profiletest.Render(pd))
			for _, p := range profilesOf(pd) {
				fmt.Fprintf(&text, "id %s\n", p.ProfileID())
			}
			got := text.String()
			path := filepath.Join(profiletest.Testdata(t, "splunk"), strings.TrimSuffix(c.name, ".pb")+".golden.txt")
			if *update {
				require.NoError(t, os.WriteFile(path, []byte(got), 0o600))
			}
			want := must.Get(os.ReadFile(path))(t)
			assert.Equal(t, string(want), got)
		})
	}
}
