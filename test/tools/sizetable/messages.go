// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/dedup"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

// sizes are the sizes of one or several messages in bytes.
type sizes struct{ plain, gzip, samples int }

func (s *sizes) add(o sizes) {
	s.plain += o.plain
	s.gzip += o.gzip
	s.samples += o.samples
}

func copyOf(pd pprofile.Profiles) pprofile.Profiles {
	result := pprofile.NewProfiles()
	pd.CopyTo(result)
	return result
}

// measure marshals a copy: marshalling moves strings of resources to the string table.
func measure(pd pprofile.Profiles) (sizes, error) {
	message, err := (&pprofile.ProtoMarshaler{}).MarshalProfiles(copyOf(pd))
	if err != nil {
		return sizes{}, err
	}
	compressed, err := pprof.AppendGzip(nil, message, 6)
	return sizes{
		plain:   len(message),
		gzip:    len(compressed),
		samples: pd.SampleCount(),
	}, err
}

// row is a set of messages with four sizes: as received, each deduplicated alone, all of them in one message, and that
// message with profiles merged that differ only in their time.
type row struct {
	name                            string
	messages                        int
	received, alone, joined, merged sizes
}

func newRow(name string, messages []pprofile.Profiles) (row, error) {
	r := row{name: name, messages: len(messages)}
	d := dedup.New(dedup.Options{})
	var copies []pprofile.Profiles
	for _, pd := range messages {
		received, err := measure(pd)
		if err != nil {
			return r, err
		}
		r.received.add(received)
		copies = append(copies, copyOf(pd))
		one, _, err := d.Deduplicate(pd)
		if err != nil {
			return r, err
		}
		alone, err := measure(one)
		if err != nil {
			return r, err
		}
		r.alone.add(alone)
	}
	whole, _, err := d.Deduplicate(dedup.Join(copies))
	if err != nil {
		return r, err
	}
	if r.joined, err = measure(whole); err != nil {
		return r, err
	}
	if dedup.MergeProfiles(whole, func(typ, _ string) bool { return typ == "cpu" || typ == "samples" }) == 0 {
		return r, nil
	}
	if whole, _, err = d.Deduplicate(whole); err != nil {
		return r, err
	}
	r.merged, err = measure(whole)
	return r, err
}

func (r row) write(out *strings.Builder) {
	title := fmt.Sprintf("%d %s", r.messages, r.name)
	for _, part := range []struct {
		name string
		size sizes
	}{{"received", r.received}, {"deduplicated", r.alone}, {"joined", r.joined}, {"joined, merged", r.merged}} {
		unchanged := part.size.plain == r.received.plain && part.size.samples == r.received.samples
		if part.size == (sizes{}) || unchanged && part.name == "deduplicated" {
			continue
		}
		fmt.Fprintf(out, "| %s | %s | %s | %s | %s |\n", title, part.name, english.Sprint(part.size.samples),
			shareOf(part.size.plain, r.received.plain), shareOf(part.size.gzip, r.received.gzip))
		title = ""
	}
}

// shareOf formats a number and its share of the whole.
func shareOf(n, whole int) string {
	return fmt.Sprintf("%s (%.0f %%)", english.Sprint(n), 100*float64(n)/float64(whole))
}

func messageSizes(out *strings.Builder, corpus, testdata string) error {
	out.WriteString(`
## Size of OTLP messages

Bytes of protobuf, plain and in gzip (level 6), and their share of what was received. *Deduplicated* is each
message alone, *joined* all messages of a row in one, as in a batch. *Merged* also has one profile for all that differ only in their
time (` + "`merge_profiles`" + `). A deduplication that removes nothing has no row.

Batches help where messages of one program repeat entries; messages of unrelated programs become larger. The uploads of one service are
CPU profiles: of this gateway at work, 12 seconds each, and of a small program that is hardly busy.

| messages | | samples | plain | gzip |
|---|---|---:|---:|---:|
`)
	for _, source := range []struct {
		name   string
		load   func(folder string) ([]pprofile.Profiles, error)
		folder string
	}{
		{"real pprofs of many programs and profilers", realProfiles, corpus},
		{"uploads of one service over ten minutes", uploads, filepath.Join(testdata, "uploads")},
		{"uploads of one service over four minutes", uploads, filepath.Join(corpus, "pprof", "scrapes-of-one-app")},
		{"messages of the eBPF profiler, of one process each", ebpfMessages, corpus},
		{"messages of the eBPF profiler, of several processes each", renumberedMessages, corpus},
	} {
		messages, err := source.load(source.folder)
		if err != nil {
			return err
		}
		r, err := newRow(source.name, messages)
		if err != nil {
			return fmt.Errorf("cannot measure %s: %w", source.name, err)
		}
		r.write(out)
	}
	return nil
}

func decode(payload []byte, service string) (pprofile.Profiles, error) {
	resource := pcommon.NewMap()
	resource.PutStr("service.name", service)
	pd, _, err := pprof.NewDecoder(pprof.DecodeOptions{}).Decode(payload, pprof.Source{Resource: resource})
	return pd, err
}

// realProfiles returns all real profiles that are pprofs, each with its own service.
func realProfiles(corpus string) (messages []pprofile.Profiles, err error) {
	paths, err := filepath.Glob(filepath.Join(corpus, "pprof", "real", "*"))
	if err != nil {
		return nil, err
	}
	for _, path := range paths {
		payload, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		if pd, err := decode(payload, filepath.Base(path)); err == nil {
			messages = append(messages, pd)
		}
	}
	return messages, nil
}

const numUploads = 50

// uploads returns profiles of one program, evenly spaced over those in a directory.
func uploads(folder string) (messages []pprofile.Profiles, err error) {
	paths, err := filepath.Glob(filepath.Join(folder, "*"))
	if err != nil {
		return nil, err
	}
	if len(paths) < numUploads {
		return nil, fmt.Errorf("%s has %d profiles, want at least %d", folder, len(paths), numUploads)
	}
	for i := range numUploads {
		payload, err := os.ReadFile(paths[i*len(paths)/numUploads])
		if err != nil {
			return nil, err
		}
		pd, err := decode(payload, "app")
		if err != nil {
			return nil, err
		}
		messages = append(messages, pd)
	}
	return messages, nil
}

func ebpfMessages(corpus string) (messages []pprofile.Profiles, err error) {
	content, err := os.ReadFile(filepath.Join(corpus, "otlp", "elastic-ebpf-189.jsonl"))
	if err != nil {
		return nil, err
	}
	lines := bufio.NewScanner(bytes.NewReader(content))
	lines.Buffer(nil, len(content)+1)
	for lines.Scan() {
		pd, err := (&pprofile.JSONUnmarshaler{}).UnmarshalProfiles(lines.Bytes())
		if err != nil {
			return nil, err
		}
		messages = append(messages, pd)
	}
	return messages, lines.Err()
}

// renumberedMessages returns captures with the current field numbers.
func renumberedMessages(corpus string) (messages []pprofile.Profiles, err error) {
	paths, err := filepath.Glob(filepath.Join(corpus, "otlp", "*.pb"))
	if err != nil {
		return nil, err
	}
	for _, path := range paths {
		content, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		pd, err := (&pprofile.ProtoUnmarshaler{}).UnmarshalProfiles(content)
		if err != nil {
			return nil, fmt.Errorf("cannot read %s: %w", path, err)
		}
		messages = append(messages, pd)
	}
	return messages, nil
}
