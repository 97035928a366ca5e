// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/google/pprof/profile"
)

// work is what a sample of a CPU profile belongs to: that of the first function, from the leaf on, that contains one of the texts.
type work struct {
	name      string
	functions []string
}

var works = []work{
	{"inflating", []string{"compress/gzip.(*Reader)"}},
	{"gzip", []string{"compress/gzip.(*Writer)"}},
	{"zstd", []string{"compress/zstd."}},
	{"sizes in protobuf, for limits, queues and metrics", []string{".ProfilesSize", ").SizeProto"}},
	{"marshalling", []string{".MarshalProfiles", ").MarshalProto"}},
	{"translating pprof to OTLP", []string{"translator/pprof.(*Decoder)"}},
	{"deduplication", []string{"internal/dedup.(*Deduplicator)"}},
	{"translating OTLP to pprof", []string{"translator/pprof.(*Encoder)", "translator/pprof.(*encoding)"}},
	{"writing files", []string{"internal/filestore."}},
	{"garbage collection in the background", []string{"runtime.gcBgMarkWorker", "runtime.bgsweep", "runtime.bgscavenge"}},
	{"HTTP: reading requests, writing answers", []string{"net/http.(*conn)", "net/http.(*connReader)"}},
	{"HTTP: sending to the destination", []string{"net/http.(*persistConn)", "net/http.(*Client)"}},
}

const otherWork = "the rest: HTTP, sizes, scheduling, telemetry"

// shares has the part of the CPU time of each work.
type shares map[string]float64

// shares takes a CPU profile of a process under load.
func (m *measured) shares(s *sender, u upload, length time.Duration) (all shares, err error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	loaded := make(chan error, 1)
	go func() {
		var err error
		for ctx.Err() == nil && err == nil {
			err = s.send(m.receivers[u.receiver], u, s.at)
		}
		loaded <- err
	}()
	p, err := m.profile(length)
	cancel()
	if err = errors.Join(err, <-loaded); err != nil {
		return nil, fmt.Errorf("%s: %w", m.name, err)
	}
	return sharesOf(p), nil
}

func (m *measured) profile(length time.Duration) (*profile.Profile, error) {
	response, err := http.Get(fmt.Sprintf("http://%s/debug/pprof/profile?seconds=%.0f", m.profiler, length.Seconds()))
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("status %d: %s", response.StatusCode, content)
	}
	if err != nil {
		return nil, err
	}
	return profile.ParseData(content)
}

func sharesOf(p *profile.Profile) shares {
	all, total := shares{}, 0.0
	for _, sample := range p.Sample {
		value := float64(sample.Value[len(sample.Value)-1])
		all[workOf(sample)] += value
		total += value
	}
	for name := range all {
		all[name] /= total
	}
	return all
}

func workOf(sample *profile.Sample) string {
	for _, location := range sample.Location {
		for _, line := range location.Line {
			for _, w := range works {
				if slices.ContainsFunc(w.functions, func(text string) bool { return strings.Contains(line.Function.Name, text) }) {
					return w.name
				}
			}
		}
	}
	return otherWork
}

// smallestShare is what work must take for a row of its own.
const smallestShare = 0.05

// renderShares makes a table with a column for each output.
func renderShares(outputs []output, measured []shares) string {
	var out strings.Builder
	out.WriteString(`
### Where the time goes

CPU profiles of the gateway while it takes the profile as raw pprof. Allocations count where they happen.

| work |`)
	for _, o := range outputs {
		fmt.Fprintf(&out, " to %s |", o.name)
	}
	out.WriteString("\n|---|" + strings.Repeat("---:|", len(outputs)) + "\n")
	var names []string
	rest := make([]float64, len(measured))
	for i, s := range measured {
		rest[i] = s[otherWork]
	}
	for _, w := range works {
		if slices.ContainsFunc(measured, func(s shares) bool { return s[w.name] >= smallestShare }) {
			names = append(names, w.name)
			continue
		}
		for i, s := range measured {
			rest[i] += s[w.name]
		}
	}
	row := func(name string, share func(i int) float64) {
		out.WriteString("| " + name + " |")
		for i := range measured {
			fmt.Fprintf(&out, " %.0f %% |", 100*share(i))
		}
		out.WriteString("\n")
	}
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(measured[0][b], measured[0][a]) })
	for _, name := range names {
		row(name, func(i int) float64 { return measured[i][name] })
	}
	row(otherWork, func(i int) float64 { return rest[i] })
	return out.String()
}

// goal is what an upload may cost, in times of the work that no gateway can avoid.
const goal = 1.5

// render makes the section of docs/performance.md.
func render(o options, size int, results []*result) string {
	var out strings.Builder
	fmt.Fprintf(&out, `
## The gateway: what an upload costs

The built distribution takes a CPU profile of %d kB over loopback, %d uploads at a time, and sends it to a server that
drops it, or writes it to files. The CPU time is that of its process until it is idle again, garbage collection included. The limit is
the CPU time of the work that no gateway can avoid: inflating, base64, (un)marshalling with pdata, zstd to OTLP, gzip to files, at level 1.
Medians of %d rounds of %d uploads. The goal is at most %.1f times the limit. `+"`-pgo`"+` saved no measurable CPU time.

| API | output | gateway, CPU per profile, ms | limit, ms | ratio |
|---|---|---:|---:|---:|
`, (size+500)/1000, o.senders, o.rounds, o.uploads, goal)
	for _, r := range results {
		gateway, limit := quantile(r.gateway, 0.5), quantile(r.limit, 0.5)
		fmt.Fprintf(&out, "| %s | %s | %s | %s | %s |\n", r.upload.api, r.output.name,
			inMilliseconds(gateway), inMilliseconds(limit), marked(float64(gateway)/float64(max(limit, 1)), goal))
	}
	return out.String()
}

// quantile returns the smallest of the times that at least this part of all does not exceed.
func quantile(times []time.Duration, part float64) time.Duration {
	if len(times) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(times))
	return sorted[max(int(math.Ceil(part*float64(len(sorted))))-1, 0)]
}

func milliseconds(d time.Duration) string { return inMilliseconds(d) + " ms" }

// inMilliseconds leaves the unit to the head of the column.
func inMilliseconds(d time.Duration) string {
	return fmt.Sprintf("%.2f", float64(d)/float64(time.Millisecond))
}
