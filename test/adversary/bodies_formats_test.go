// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package adversary

import (
	"bytes"
	"fmt"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
)

// atFormat is a body in one of the formats that are texts, JSON or trees.
func atFormat(name, format string, wire func() []byte) body {
	return body{name: "format-" + name, to: pprofServer, path: "/v1/pprof?service.name=hostile&format=" + format, wire: wire}
}

// formatBodies are for the formats beside pprof, at both APIs that take them.
func formatBodies() []body {
	chain := func(node, end string, n int) content {
		return join(text("\x00\x00\x01"), repeat([]byte(node), n), text(end))
	}
	folded := func(line string) func() []byte {
		return func() []byte { return zstandard(filling([]byte(line), 60<<20)) }
	}
	return append([]body{
		atFormat("folded-equal-lines", "folded", folded("main;work 1\n")),
		atFormat("folded-empty-lines", "folded", folded("\n")),
		atFormat("folded-one-line", "folded", folded("a;")),
		atFormat("folded-one-frame", "folded", folded("a")),
		atFormat("folded-long-count", "folded", func() []byte { return zstandard(join(text("a "), filling([]byte("1"), 60<<20))) }),
		atFormat("perf-long-line", "perf_script", func() []byte { return zstandard(join(text("a 1 2.5: 1 e:\n\t"), filling([]byte("x"), 60<<20))) }),
		atFormat("folded-functions", "folded", func() []byte {
			return zstandard(counting(2_000_000, func(to []byte, i int) []byte { return fmt.Appendf(to, "function%d 1\n", i) }))
		}),
		atFormat("folded-deep-stacks", "folded", func() []byte {
			deep := strings.Repeat("a;b;c;d;", 2000)
			return zstandard(counting(1000, func(to []byte, i int) []byte { return fmt.Appendf(to, "%s%d 1\n", deep, i) }))
		}),
		atFormat("folded-invalid-text", "folded", folded("\xff;\xfe\xff 1\n")),
		atFormat("lines", "lines", folded("a\n")),
		{name: "format-ingest-without-name", to: pprofServer, path: "/ingest?name=hostile.cpu", wire: func() []byte {
			return counting(500_000, func(to []byte, i int) []byte { return fmt.Appendf(to, "f%d;g 1\n", i) }).plain()
		}},
		atFormat("tree-chain-of-values", "tree", func() []byte { return zstandard(chain("\x01a\x01\x01", "\x01a\x01\x00", 16_000)) }),
		atFormat("tree-chain", "tree", func() []byte { return zstandard(chain("\x01a\x00\x01", "\x01a\x01\x00", 14_000_000)) }),
		atFormat("tree-wide", "tree", func() []byte {
			return zstandard(join(text("\x00\x00\xff\xff\xff\xff\x0f"), repeat([]byte("\x01a\x01\x00"), 14_000_000)))
		}),
		atFormat("trie-chain-of-values", "trie", func() []byte { return zstandard(chain("\x01a\x01\x01", "\x01a\x01\x00", 1_000_000)) }),
		atFormat("trie-chain", "trie", func() []byte { return zstandard(chain("\x01a\x00\x01", "\x01a\x01\x00", 14_000_000)) }),
		atFormat("perf-headers", "perf_script", folded("a 1 2.5: 1 cycles:\n")),
		atFormat("perf-times", "perf_script", folded("a 1 1795369073.5: 1 cycles:\n")),
		atFormat("perf-words", "perf_script", folded("x 1 1.5: ")),
		atFormat("perf-spaces-and-times", "perf_script", func() []byte {
			return zstandard(join(filling([]byte(" "), 30<<20), filling([]byte("1.0: "), 30<<20)))
		}),
		atFormat("perf-parentheses", "perf_script", func() []byte {
			return zstandard(join(text("a 1 2.5: 1 e:\n\t1 "), filling([]byte("("), 60<<20)))
		}),
		atFormat("perf-inlined", "perf_script", func() []byte {
			return zstandard(join(text("a 1 2.5: 1 e:\n"), filling([]byte("\t1 f (inlined)\n"), 60<<20)))
		}),
		atFormat("perf-threads", "perf_script", func() []byte {
			return zstandard(counting(900_000, func(to []byte, i int) []byte { return fmt.Appendf(to, "t%d %d/%d 2.5: 1 e:\n\t%x f (x)\n", i, i, i, i) }))
		}),
		atFormat("perf-events", "perf_script", func() []byte {
			return zstandard(counting(2_000_000, func(to []byte, i int) []byte { return fmt.Appendf(to, "a 1 2.5: 1 e%d:\n", i) }))
		}),
	}, speedscopeBodies()...)
}

func speedscopeBodies() []body {
	file := func(frames, profile content) []byte {
		return zstandard(join(text(`{"shared":{"frames":[`), frames, text(`{"name":"z"}]},"profiles":[`), profile, text("]}")))
	}
	const evented = `{"type":"evented","unit":"nanoseconds","events":[`
	return []body{
		atFormat("speedscope-deep", "speedscope", func() []byte {
			return zstandard(join(text(`{"x":`), repeat([]byte("["), 30_000_000)))
		}),
		atFormat("speedscope-frames", "speedscope", func() []byte {
			return file(filling([]byte(`{"name":"a"},`), 60<<20), text(`{"type":"sampled","unit":"none","samples":[[0]],"weights":[1]}`))
		}),
		atFormat("speedscope-empty-frames", "speedscope", func() []byte { return file(filling([]byte("{},"), 60<<20), nil) }),
		atFormat("speedscope-long-name", "speedscope", func() []byte {
			name := join(text(`{"name":"`), filling([]byte("\\u0000"), 60<<20), text(`"},`))
			return file(name, text(`{"type":"sampled","unit":"none","samples":[[0]],"weights":[1]}`))
		}),
		atFormat("speedscope-invalid-name", "speedscope", func() []byte {
			name := join(text(`{"name":"\n`), filling([]byte("\xff"), 60<<20), text(`"},`))
			return file(name, text(`{"type":"sampled","unit":"none","samples":[[0]],"weights":[1]}`))
		}),
		atFormat("speedscope-long-number", "speedscope", func() []byte {
			return file(nil, join(text(`{"type":"sampled","unit":"none","samples":[[0]],"weights":[`), filling([]byte("1"), 60<<20), text("]}")))
		}),
		atFormat("speedscope-weights", "speedscope", func() []byte {
			return file(nil, join(text(`{"type":"sampled","unit":"none","samples":[],"weights":[`), filling([]byte("1,"), 60<<20), text("1]}")))
		}),
		atFormat("speedscope-samples", "speedscope", func() []byte {
			weights := bytes.TrimSuffix(bytes.Repeat([]byte("1,"), 1_000_000), []byte(","))
			stacks := bytes.TrimSuffix(bytes.Repeat([]byte("[0,0,0],"), 1_000_000), []byte(","))
			return file(nil, join(text(`{"type":"sampled","unit":"none","samples":[`), literal(stacks), text(`],"weights":[`), literal(weights), text("]}")))
		}),
		atFormat("speedscope-empty-samples", "speedscope", func() []byte {
			const samples = 12_000_000
			stacks := repeat([]byte("[],"), samples)
			weights := repeat([]byte("1,"), samples)
			return file(nil, join(text(`{"type":"sampled","unit":"none","samples":[`), stacks, text(`[]],"weights":[`), weights, text("1]}")))
		}),
		atFormat("speedscope-open-events", "speedscope", func() []byte {
			return file(nil, join(text(evented), counting(1_000_000, func(to []byte, i int) []byte {
				return fmt.Appendf(to, `{"type":"O","at":%d,"frame":0},`, i)
			}), text(`{"type":"C","at":9999999,"frame":0}]}`)))
		}),
		atFormat("speedscope-profiles", "speedscope", func() []byte {
			return file(nil, join(filling([]byte(`{"type":"sampled","unit":"none","samples":[],"weights":[]},`), 60<<20), text("{}")))
		}),
	}
}

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
	pprofPeriodType = 11
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
