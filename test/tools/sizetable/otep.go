// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/pprof/profile"

	"github.com/otelpprof/otelpprof/test/tools/digits"
)

// timestampLabel has the time of an event in seconds, as in the OTEP.
const timestampLabel = "__timestamp__"

// otepTables writes the tables of OTEP 0239 for the current formats.
func otepTables(out *strings.Builder, corpus string) error {
	out.WriteString(`
## The inputs of OTEP 0239

The OTEP's figures (October 2023) for pprof and for the format that it proposed, and those of today. The average input is the OTEP's
own file; with timestamps, each event is a sample with its time as a label. Ruby (deep stacks) and large are made with the OTEP's
shapes and sizes, since its files are not public. *Allocations* are those of a new ` + "`Decoder`" + ` that gets plain pprof, and for pprof
those of google/pprof's ` + "`ParseUncompressed`" + `. The OTEP's pprof has no sample types, times and comments; its large
input has no labels of samples.

| input | representation | bytes | gzipped bytes | retained objects | unique label sets | bytes allocated | allocations |
|---|---|---:|---:|---:|---:|---:|---:|
`)
	for _, input := range otepInputs {
		rows, err := input.measure(corpus)
		if err != nil {
			return fmt.Errorf("cannot measure %s: %w", input.name, err)
		}
		title, before := input.name, int64(0)
		for i, row := range slices.Concat(input.otep, rows) {
			if row.bytes == before { // deduplication removed nothing
				continue
			}
			before = row.bytes
			if i < len(input.otep) {
				row.representation = "OTEP: " + row.representation
			}
			row.write(out, title)
			title = ""
		}
	}
	return nil
}

func (f figures) write(out *strings.Builder, title string) {
	fmt.Fprintf(out, "| %s | %s |", title, f.representation)
	for _, n := range []int64{f.bytes, f.gzipped, f.retainedObjects, f.labelSets, f.bytesAllocated, f.allocations} {
		fmt.Fprintf(out, " %s |", digits.Group(n))
	}
	out.WriteByte('\n')
}

// measure returns today's rows for an input.
func (input otepInput) measure(corpus string) ([]figures, error) {
	payload, err := os.ReadFile(filepath.Join(corpus, "pprof", input.path))
	if err != nil {
		return nil, err
	}
	p, err := profile.ParseData(payload)
	if err != nil {
		return nil, err
	}
	if input.timestamps {
		splitByEvent(p)
	}
	var plain bytes.Buffer
	if err := p.WriteUncompressed(&plain); err != nil {
		return nil, err
	}
	sets := labelSets(p)
	var rows []figures
	for _, r := range representations(plain.Bytes(), input.timestamps) {
		row, err := r.measure()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", r.name, err)
		}
		row.labelSets = sets
		rows = append(rows, row)
	}
	return rows, nil
}

// splitByEvent splits each sample into as many as its first value says, one second apart. The profile lasts until the last one, since
// times far outside of a profile stay labels.
func splitByEvent(p *profile.Profile) {
	var samples []*profile.Sample
	start := p.TimeNanos / 1e9
	at := start
	for _, s := range p.Sample {
		for range max(s.Value[0], 1) {
			event := *s
			event.Value = make([]int64, len(s.Value))
			for i := range event.Value {
				event.Value[i] = 1
			}
			event.NumLabel = map[string][]int64{timestampLabel: {at}}
			samples = append(samples, &event)
			at++
		}
	}
	p.Sample = samples
	p.DurationNanos = max(p.DurationNanos, (at-start)*1e9)
}

// labelSets counts the sets of labels of the samples, without the times.
func labelSets(p *profile.Profile) int64 {
	sets := map[string]bool{}
	for _, s := range p.Sample {
		numbers := maps.Clone(s.NumLabel)
		delete(numbers, timestampLabel)
		sets[fmt.Sprint(s.Label, numbers)] = true // maps are printed in the order of their keys
	}
	return int64(len(sets))
}
