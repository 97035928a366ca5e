// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/google/pprof/profile"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/dedup"
	"github.com/otelpprof/otelpprof/internal/digits"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

// otepTables writes the tables of OTEP 0239 for the current formats.
func otepTables(out *strings.Builder, corpus string) error {
	out.WriteString(`
## The inputs of OTEP 0239

The average input is the OTEP's own file; with timestamps, each of its samples is split into one per event, with the time
as a label, as the OTEP did. Ruby (deep stacks) and large are made for this, of its shapes and sizes: the OTEP's own are not
public. Allocations are those of reading the bytes: google/pprof's ` + "`ParseUncompressed`" + `, and pdata's
` + "`UnmarshalProfiles`" + `. *As received* is what the translator makes, one profile for each sample type, with each entry once
already, so that deduplication is left with equal samples; only the large input has some. The OTEP's figure for ruby came
from finding each stack within another, which the tables of today do not express.

| input | representation | bytes | gzipped bytes | allocations | bytes allocated |
|---|---|---:|---:|---:|---:|
`)
	for _, input := range []struct {
		name, path string
		timestamps bool
	}{
		{"average", "real/otep-average.pprof", false},
		{"average with timestamps", "real/otep-average.pprof", true},
		{"ruby", "synth/synth-ruby.pb", false},
		{"large", "synth/synth-large.pb", false},
	} {
		payload, err := os.ReadFile(filepath.Join(corpus, "pprof", input.path))
		if err != nil {
			return err
		}
		p, err := profile.ParseData(payload)
		if err != nil {
			return err
		}
		if input.timestamps {
			splitByEvent(p)
		}
		if err := writeInput(out, input.name, p); err != nil {
			return fmt.Errorf("cannot measure %s: %w", input.name, err)
		}
	}
	return nil
}

// splitByEvent splits each sample into as many as its first value says, one second apart.
func splitByEvent(p *profile.Profile) {
	var samples []*profile.Sample
	at := p.TimeNanos / 1e9
	for _, s := range p.Sample {
		for range max(s.Value[0], 1) {
			event := *s
			event.Value = make([]int64, len(s.Value))
			for i := range event.Value {
				event.Value[i] = 1
			}
			event.NumLabel = map[string][]int64{"__timestamp__": {at}}
			samples = append(samples, &event)
			at++
		}
	}
	p.Sample = samples
}

func writeInput(out *strings.Builder, name string, p *profile.Profile) error {
	var raw bytes.Buffer
	if err := p.WriteUncompressed(&raw); err != nil {
		return err
	}
	received, _, err := pprof.NewDecoder(pprof.DecodeOptions{}).Decode(raw.Bytes(), pprof.Source{})
	if err != nil {
		return err
	}
	small, _, err := dedup.New(dedup.Options{}).Deduplicate(copyOf(received))
	if err != nil {
		return err
	}
	forms := []struct {
		name  string
		bytes func() ([]byte, error)
		read  func([]byte) error
	}{
		{"pprof", func() ([]byte, error) { return raw.Bytes(), nil }, func(b []byte) error {
			_, err := profile.ParseUncompressed(b)
			return err
		}},
		{"OTLP as received", marshalled(received), unmarshal},
		{"OTLP deduplicated", marshalled(small), unmarshal},
	}
	for _, form := range forms {
		message, err := form.bytes()
		if err != nil {
			return err
		}
		compressed, err := pprof.AppendGzip(nil, message, 6)
		if err != nil {
			return err
		}
		objects, size, err := allocated(func() error { return form.read(message) })
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "| %s | %s | %s | %s | %s | %s |\n", name, form.name,
			digits.Group(int64(len(message))), digits.Group(int64(len(compressed))),
			digits.Group(int64(objects)), digits.Group(int64(size)))
		name = ""
	}
	return nil
}

func marshalled(pd pprofile.Profiles) func() ([]byte, error) {
	return func() ([]byte, error) { return (&pprofile.ProtoMarshaler{}).MarshalProfiles(copyOf(pd)) }
}

func unmarshal(b []byte) error {
	_, err := (&pprofile.ProtoUnmarshaler{}).UnmarshalProfiles(b)
	return err
}

// allocated returns how many bytes a call allocates.
func allocated(do func() error) (objects, size uint64, err error) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	err = do()
	runtime.ReadMemStats(&after)
	return after.Mallocs - before.Mallocs, after.TotalAlloc - before.TotalAlloc, err
}
