// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package adversary

import "google.golang.org/protobuf/encoding/protowire"

// inflatedBytes is a little less than limits.inflated_bytes, so that no body is refused for its size alone.
const inflatedBytes = 63 << 20

// Fields of a pprof, and of its messages.
const (
	pprofSampleType = 1
	pprofSample     = 2
	pprofMapping    = 3
	pprofLocation   = 4
	pprofFunction   = 5
	pprofString     = 6
	pprofTime       = 9
	pprofComment    = 13

	sampleLocation = 1
	sampleValue    = 2
	sampleLabel    = 3
	locationLine   = 4
)

// head is what a profile needs before anything else counts: a string and a sample type.
func head(strings ...string) content {
	c := content{{unit: empty(pprofString), times: 1}}
	for _, s := range append([]string{"cpu", "nanoseconds"}, strings...) {
		c = append(c, textField(pprofString, s)...)
	}
	return append(c, field(pprofSampleType, number(1, 1), number(2, 2))...)
}

// onlySample is a sample of nothing but a value.
func onlySample(more ...content) content {
	return field(pprofSample, append([]content{field(sampleValue, text("\x01"))}, more...)...)
}

// withIDs are entries of a table that have nothing but ids.
func withIDs(table protowire.Number, times int, more ...byte) content {
	return counting(times, func(to []byte, i int) []byte {
		to = protowire.AppendTag(to, table, protowire.BytesType)
		to = protowire.AppendVarint(to, uint64(1+protowire.SizeVarint(uint64(i+1))+len(more)))
		return append(appendNumber(to, 1, uint64(i+1)), more...)
	})
}

// pprofTables repeat something small in each table of a pprof.
func pprofTables() []body {
	var all []body
	add := func(name string, c func() content) {
		all = append(all, atPprof("pprof-"+name, func() []byte { return zstandard(join(head("name"), onlySample(), c())) }))
	}
	for i, name := range []string{"sample-types", "samples", "mappings", "locations", "functions", "strings"} {
		add("empty-"+name, func() content { return filling(empty(protowire.Number(i+1)), inflatedBytes) })
	}
	add("mappings", func() content { return withIDs(pprofMapping, 3_000_000) })
	add("locations", func() content { return withIDs(pprofLocation, 3_000_000) })
	add("functions", func() content { return withIDs(pprofFunction, 3_000_000, 0x10, 3) })
	add("lines-of-one-location", func() content {
		return field(pprofLocation, number(1, 1), filling(empty(locationLine), inflatedBytes))
	})
	add("lines-of-many-locations", func() content {
		lines := repeat(empty(locationLine), 1000).plain()
		return counting(30_000, func(to []byte, i int) []byte {
			return append(to, field(pprofLocation, number(1, uint64(i+1)), literal(lines)).plain()...)
		})
	})
	add("comments", func() content { return filling(appendNumber(nil, pprofComment, 0), inflatedBytes) })
	add("comments-packed", func() content { return field(pprofComment, repeat([]byte{0}, inflatedBytes)) })
	add("period-types", func() content { return filling(empty(11), inflatedBytes) })
	add("empty-labels-of-one-sample", func() content { return field(pprofSample, filling(empty(sampleLabel), inflatedBytes)) })
	add("million-labels", func() content {
		label := field(sampleLabel, number(1, 3), number(2, 3)).plain()
		return repeat(onlySample(repeat(label, 1000)).plain(), 1000)
	})
	add("distinct-labels", func() content {
		var labels, label []byte
		return counting(2000, func(to []byte, i int) []byte {
			labels = append(labels[:0], 0x12, 1, 1)
			for j := range 1000 {
				label = appendNumber(append(label[:0], 8, 3), 3, uint64(i*1000+j+1))
				labels = appendField(labels, sampleLabel, label)
			}
			return appendField(to, pprofSample, labels)
		})
	})
	add("values-of-one-sample", func() content { return field(pprofSample, field(sampleValue, repeat([]byte{1}, inflatedBytes))) })
	add("locations-of-one-sample", func() content {
		return join(withIDs(pprofLocation, 1), field(pprofSample, field(sampleLocation, repeat([]byte{1}, inflatedBytes)), number(sampleValue, 1)))
	})
	add("short-strings", func() content { return filling(textField(pprofString, "x").plain(), inflatedBytes) })
	add("unknown-fields", func() content { return filling(number(99, 1).plain(), inflatedBytes) })
	return all
}
