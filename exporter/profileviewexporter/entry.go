// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profileviewexporter // import "github.com/otelpprof/otelpprof/exporter/profileviewexporter"

import (
	"time"
	"unicode/utf8"

	"github.com/otelpprof/otelpprof/exporter/internal/summary"
	"github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/recent"
	"github.com/otelpprof/otelpprof/internal/attributevalue"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

const unknownType = "unknown"

// entryOf returns the entry of the store for a payload.
func entryOf(payload *pprof.Payload, tenant string, now time.Time) (*recent.Entry, error) {
	service := ""
	attributes := make([]recent.Attribute, 0, payload.Resource.Attributes().Len())
	for key, value := range payload.Resource.Attributes().All() {
		text := attributevalue.Text(value)
		attributes = append(attributes, recent.Attribute{Name: key, Value: text})
		if key == attributevalue.ServiceName {
			service = text
		}
	}
	begin := now
	if nanos := int64(payload.Time); nanos > 0 {
		begin = time.Unix(0, nanos)
	}
	e := &recent.Entry{
		Tenant:     tenant,
		Service:    service,
		Type:       payload.ProfileType,
		Attributes: attributes,
		Begin:      begin,
		End:        begin.Add(time.Duration(min(payload.DurationNano, uint64(24*time.Hour)))),
		Inflated:   len(payload.Pprof),
		ID:         payload.ProfileID,
	}
	if err := describe(e, payload.Pprof); err != nil {
		return nil, err
	}
	e.Compressed = recent.Compress(payload.Pprof)
	return e, nil
}

// The limits of gauges, which an entry keeps. No profiler has more, or longer names: the values of others are summed.
const (
	maxGauges    = 16
	maxGaugeText = 128
)

// gaugesOf returns the sample types whose values are a state at one time.
func gaugesOf(head summary.Head) (gauges []recent.Gauge) {
	for i, t := range head.Types {
		if t.IsGauge() && len(gauges) < maxGauges && len(t.Name)+len(t.Unit) <= maxGaugeText {
			gauges = append(gauges, recent.Gauge{Position: i, Type: t.Name, Unit: t.Unit})
		}
	}
	return gauges
}

// maxSegment limits the length of the name of a service or type, which the list repeats many times.
const maxSegment = 512

// segment returns a name that can be a part of a path. Browsers resolve "." and "..", so these get an underscore. Long names
// are cut.
func segment(name, unknown string) string {
	switch name {
	case "":
		return unknown
	case ".", "..":
		return name + "_"
	}
	if len(name) <= maxSegment {
		return name
	}
	end := maxSegment
	for end > 0 && !utf8.RuneStart(name[end]) {
		end--
	}
	return name[:end]
}
