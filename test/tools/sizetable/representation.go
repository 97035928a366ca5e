// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"compress/gzip" //nolint:depguard // the OTEP's figures are of this one
	"runtime"
	"time"

	"github.com/google/pprof/profile"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/dedup"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

// representation is a form of a profile: what makes it of the pprof, and its bytes.
type representation struct {
	name    string
	convert func() (any, error)
	marshal func(converted any) ([]byte, error)
}

// representations are those of a pprof without compression.
func representations(plain []byte, timestamps bool) []representation {
	otlp := func(name string, opts pprof.DecodeOptions, deduplicate bool) representation {
		return representation{name, func() (any, error) { return decodeOTLP(plain, opts, deduplicate) }, marshalOTLP}
	}
	all := []representation{
		{"pprof", func() (any, error) { return profile.ParseUncompressed(plain) }, func(any) ([]byte, error) { return plain, nil }},
		otlp("OTLP", pprof.DecodeOptions{}, false),
		otlp("OTLP, deduplicated", pprof.DecodeOptions{}, true),
	}
	if timestamps {
		native := pprof.DecodeOptions{TimestampLabels: []pprof.TimestampLabel{{Label: timestampLabel, Unit: time.Second}}}
		all[1].name, all[2].name = "OTLP, times as labels", "OTLP, times as labels, deduplicated"
		all = append(all, otlp("OTLP, native timestamps", native, false), otlp("OTLP, native timestamps, deduplicated", native, true))
	}
	return all
}

func decodeOTLP(plain []byte, opts pprof.DecodeOptions, deduplicate bool) (pprofile.Profiles, error) {
	pd, _, err := pprof.NewDecoder(opts).Decode(plain, pprof.Source{})
	if err == nil && deduplicate {
		pd, _, err = dedup.New(dedup.Options{}).Deduplicate(pd)
	}
	return pd, err
}

func marshalOTLP(converted any) ([]byte, error) {
	return (&pprofile.ProtoMarshaler{}).MarshalProfiles(copyOf(converted.(pprofile.Profiles)))
}

// measure converts once. The converter is garbage before the retained objects are counted.
func (r representation) measure() (figures, error) {
	before := collected()
	converted, err := r.convert()
	if err != nil {
		return figures{}, err
	}
	var after runtime.MemStats
	runtime.ReadMemStats(&after)
	row := figures{
		representation:  r.name,
		bytesAllocated:  int64(after.TotalAlloc - before.TotalAlloc),
		allocations:     int64(after.Mallocs - before.Mallocs),
		retainedObjects: int64(collected().HeapObjects) - int64(before.HeapObjects),
	}
	message, err := r.marshal(converted)
	if err != nil {
		return figures{}, err
	}
	row.bytes = int64(len(message))
	row.gzipped, err = gzippedBytes(message)
	return row, err
}

// collected returns the statistics of the heap after three collections.
func collected() (stats runtime.MemStats) {
	for range 3 {
		runtime.GC()
	}
	runtime.ReadMemStats(&stats)
	return stats
}

// gzippedBytes is the size in the gzip of Go's library, which the OTEP used.
func gzippedBytes(message []byte) (int64, error) {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := w.Write(message); err != nil {
		return 0, err
	}
	err := w.Close()
	return int64(out.Len()), err
}
