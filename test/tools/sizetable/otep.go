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

	"github.com/otelpprof/otelpprof/internal/digits"
)

// timestampLabel has the time of an event in seconds, as in the OTEP.
const timestampLabel = "__timestamp__"

// otepTables writes the tables of OTEP 0239 for the current formats.
func otepTables(out *strings.Builder, corpus string) error {
	out.WriteString(`
## The inputs of OTEP 0239

The OTEP's own figures (October 2023), and below them those of today. The average input is the OTEP's own file; with
timestamps, each of its samples is split into one per event, with the time as a label, as the OTEP did. Ruby (deep stacks)
and large are made for this, of its shapes and sizes: the OTEP's own are not public.

The columns are the OTEP's. *Gzipped bytes* are those of Go's ` + "`compress/gzip`" + ` at its default level, on both sides.
*Retained objects* are those on the heap after three collections with what the conversion has made, less those before.
*Unique label sets* are those of the pprof's samples, without the time. *Bytes allocated* and *allocations* are those of the
conversion: of a new ` + "`Decoder`" + ` that gets the pprof without compression, with the deduplicator where a row says so, and for
pprof of google/pprof's ` + "`ParseUncompressed`" + `. A decoder that has worked before allocates less: see *pprof to OTLP*.

Where the two cannot be compared: the OTEP's row for pprof is the pprof without sample types, times and comments, in an
envelope; ours is the whole of it, as google/pprof writes it. The OTEP's average and ruby hold both sample types in one
profile, while OTLP has a profile for each today. Its figure for ruby came from finding each stack within another, which the
tables of today do not express, and that for large is without the labels of the samples. *OTLP* is what the translator
makes, with each entry once already, so that deduplication is left with equal samples; only the large input has some. With
*native timestamps*, the option ` + "`timestamp_labels`" + ` turns the labels into timestamps of eight bytes each, in nanoseconds,
and what then is equal becomes one sample.

| input | representation | bytes | gzipped bytes | retained objects | unique label sets | bytes allocated | allocations |
|---|---|---:|---:|---:|---:|---:|---:|
`)
	for _, input := range otepInputs {
		rows, err := input.measure(corpus)
		if err != nil {
			return fmt.Errorf("cannot measure %s: %w", input.name, err)
		}
		title := input.name
		for i, row := range slices.Concat(input.otep, rows) {
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
