// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package splunk

import (
	"flag"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
)

var update = flag.Bool("update", false, "update the golden files in testdata/splunk")

// TestGolden compares the profiles of each capture with a readable text. To update the files, run go test
// ./translator/splunk -run TestGolden -update.
func TestGolden(t *testing.T) {
	for _, c := range captures(t) {
		t.Run(c.name, func(t *testing.T) {
			pd, _ := mustDecode(t, c.logs(t), Options{})
			got := describe(pd)
			path := filepath.Join(profiletest.Testdata(t, "splunk"), strings.TrimSuffix(c.name, ".pb")+".golden.txt")
			if *update {
				require.NoError(t, os.WriteFile(path, []byte(got), 0o600))
			}
			want, err := os.ReadFile(path)
			require.NoError(t, err)
			assert.Equal(t, string(want), got)
		})
	}
}

// describe renders profiles as text, with long stacks and lists cut.
func describe(pd pprofile.Profiles) string {
	var b strings.Builder
	for _, resource := range pd.ResourceProfiles().All() {
		fmt.Fprintln(&b, "resource")
		describeMap(&b, resource.Resource().Attributes())
		for _, scope := range resource.ScopeProfiles().All() {
			fmt.Fprintf(&b, "scope %s %s\n", scope.Scope().Name(), scope.Scope().Version())
			for _, p := range scope.Profiles().All() {
				describeProfile(&b, pd, p)
			}
		}
	}
	return b.String()
}

func describeMap(b *strings.Builder, m pcommon.Map) {
	var lines []string
	for key, value := range m.All() {
		lines = append(lines, fmt.Sprintf("  %s=%s (%s)\n", key, value.AsString(), value.Type()))
	}
	slices.Sort(lines)
	b.WriteString(strings.Join(lines, ""))
}

func describeProfile(b *strings.Builder, pd pprofile.Profiles, p pprofile.Profile) {
	fmt.Fprintf(b, "profile %s\n", sampleTypeOf(pd, p))
	if p.Period() != 0 || p.PeriodType().TypeStrindex() != 0 {
		fmt.Fprintf(b, "  period %d %s\n", p.Period(), stringAt(pd, p.PeriodType().TypeStrindex())+"/"+stringAt(pd, p.PeriodType().UnitStrindex()))
	}
	id := p.ProfileID()
	fmt.Fprintf(b, "  time %s lasts %s id %x\n", p.Time().AsTime().Format(time.RFC3339Nano), time.Duration(p.DurationNano()), id[:])
	for _, line := range attributeLines(pd, p.AttributeIndices()) {
		fmt.Fprintf(b, "  %s\n", line)
	}
	for _, s := range p.Samples().All() {
		describeSample(b, pd, p, s)
	}
}

func describeSample(b *strings.Builder, pd pprofile.Profiles, p pprofile.Profile, s pprofile.Sample) {
	fmt.Fprintf(b, "  sample %s\n", list(s.Values().AsRaw(), func(v int64) string { return strconv.FormatInt(v, 10) }))
	fmt.Fprintf(b, "    at %s\n", list(s.TimestampsUnixNano().AsRaw(), func(at uint64) string {
		return time.Duration(at - uint64(p.Time())).String()
	}))
	if s.LinkIndex() != 0 {
		link := pd.Dictionary().LinkTable().At(int(s.LinkIndex()))
		fmt.Fprintf(b, "    link %s %s\n", link.TraceID(), link.SpanID())
	}
	for _, line := range attributeLines(pd, s.AttributeIndices()) {
		fmt.Fprintf(b, "    %s\n", line)
	}
	const shown = 6
	for i, l := range pd.Dictionary().StackTable().At(int(s.StackIndex())).LocationIndices().All() {
		if i == shown {
			break
		}
		location := pd.Dictionary().LocationTable().At(int(l))
		for _, line := range location.Lines().All() {
			f := pd.Dictionary().FunctionTable().At(int(line.FunctionIndex()))
			fmt.Fprintf(b, "      %s  %v\n",
				frameText(stringAt(pd, f.NameStrindex()), stringAt(pd, f.FilenameStrindex()), line.Line(), line.Column()),
				attributeLines(pd, location.AttributeIndices()))
		}
	}
	if frames := framesOf(pd, s); len(frames) > shown {
		rest := strings.Join(frames[shown:], "\n")
		fmt.Fprintf(b, "      and %d more, checksum %08x\n", len(frames)-shown, crc32.ChecksumIEEE([]byte(rest)))
	}
}

func attributeLines(pd pprofile.Profiles, indices pcommon.Int32Slice) []string {
	var lines []string
	for _, i := range indices.All() {
		a := pd.Dictionary().AttributeTable().At(int(i))
		line := fmt.Sprintf("%s=%q (%s)", stringAt(pd, a.KeyStrindex()), a.Value().AsString(), a.Value().Type())
		if unit := stringAt(pd, a.UnitStrindex()); unit != "" {
			line += " in " + unit
		}
		lines = append(lines, line)
	}
	slices.Sort(lines)
	return lines
}

// list renders the first items of a list, the number of the others, and a checksum of all.
func list[T any](items []T, format func(T) string) string {
	const shown = 4
	var texts []string
	for _, item := range items {
		texts = append(texts, format(item))
	}
	if len(items) <= shown {
		return strings.Join(texts, " ")
	}
	checksum := crc32.ChecksumIEEE([]byte(strings.Join(texts, " ")))
	return fmt.Sprintf("%s and %d more, checksum %08x", strings.Join(texts[:shown], " "), len(items)-shown, checksum)
}
