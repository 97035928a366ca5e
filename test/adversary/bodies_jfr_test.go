// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package adversary

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"github.com/pierrec/lz4/v4"

	"github.com/otelpprof/otelpprof/internal/testkit/jfrtest"
)

// manyUnits are more than any recording has.
const manyUnits = 1<<32 - 1

// jfrBodies are recordings at the two APIs whose clients send them, and in their containers.
func jfrBodies() []body {
	ingest := func(name string, recording func() []byte) body {
		return body{name: "jfr-" + name, to: pprofServer, path: "/ingest?name=hostile&format=jfr&from=1&until=2", wire: func() []byte {
			return zstandard(literal(recording()))
		}}
	}
	datadog := func(name, file string, times int, wire func() []byte) body {
		return atForm("jfr-datadog-"+name, "/profiling/v1/input", "", func() []byte {
			event := part("event", "event.json", text(`{"tags_profiler":"service:hostile"}`))
			return form(repeat(part(file, file, literal(wire())).plain(), times), event).plain()
		})
	}
	bodies := []body{
		{name: "jfr-claimed-strings", to: pprofServer, path: "/ingest?name=hostile&format=jfr", wire: claimedStrings},
		{name: "jfr-at-v1-pprof", to: pprofServer, path: "/v1/pprof?service.name=hostile", wire: func() []byte { return zstandard(literal(distinctEvents())) }},
		atForm("jfr-form-labels", "/ingest?name=hostile&format=jfr", "zstd", func() []byte {
			return zstandard(form(part("jfr", "jfr", literal(jfrtest.Example().Bytes())), part("labels", "labels", filling(labelContext(), 60<<20))))
		}),
		datadog("claimed-strings", "main.jfr", 200, claimedStrings),
		datadog("lz4-stacks", "main.jfr", 1, func() []byte { return inLZ4(shallowStacks()) }),
		datadog("lz4-cut-off", "main.jfr", 200, func() []byte { return inLZ4(distinctEvents()[:4<<20])[:50<<10] }),
		datadog("lz4-bomb", "main.jfr", 1, func() []byte { return inLZ4(make([]byte, 1<<28)) }),
		datadog("zip-events", "auto.jfr", 1, func() []byte { return inZip(equalEvents(), "a.jfr") }),
		datadog("zip-bomb", "auto.jfr", 40, func() []byte { return inZip(make([]byte, 1<<28), "a.jfr") }),
		datadog("zip-of-empty-files", "auto.jfr", 1, func() []byte { return inZip(nil, make([]string, 20_000)...) }),
		datadog("zstd-chunks", "auto.jfr", 20, func() []byte { return zstandard(repeat(jfrtest.Example().Bytes(), 4096)) }),
	}
	for name, recording := range jfrRecordings {
		bodies = append(bodies, ingest(name, recording))
	}
	slices.SortFunc(bodies, func(a, b body) int { return strings.Compare(a.name, b.name) })
	return bodies
}

// jfrRecordings each have much of one thing.
var jfrRecordings = map[string]func() []byte{
	"chunks": func() []byte { return bytes.Repeat(jfrtest.Example().Bytes(), 4096) },
	"symbols": func() []byte {
		return pools(1_900_000, func(r *jfrtest.Recording, i uint64) {
			r.ConstantAt(jfrtest.ClassSymbol, i, jfrtest.AppendText(nil, "s"))
		})
	},
	"long-symbols": func() []byte {
		long := jfrtest.AppendText(nil, strings.Repeat("s", 1<<20-1))
		return pools(60, func(r *jfrtest.Recording, i uint64) { r.ConstantAt(jfrtest.ClassSymbol, i, long) })
	},
	"long-names": longNames,
	"invalid-symbols": func() []byte {
		return pools(500_000, func(r *jfrtest.Recording, i uint64) {
			r.ConstantAt(jfrtest.ClassSymbol, i, jfrtest.AppendText(nil, strings.Repeat("\xff", 100)))
		})
	},
	"methods": func() []byte {
		return pools(990_000, func(r *jfrtest.Recording, i uint64) { r.ConstantAt(jfrtest.ClassMethod, i, longs(i, i)) })
	},
	"threads": func() []byte {
		return pools(1_000_000, func(r *jfrtest.Recording, i uint64) {
			r.ConstantAt(jfrtest.ClassThread, i, slices.Concat(jfrtest.AppendText(nil, "t"), longs(i), jfrtest.AppendText(nil, "u"), longs(i)))
		})
	},
	"shallow-stacks":  shallowStacks,
	"equal-events":    equalEvents,
	"distinct-events": distinctEvents,
	"deep-stacks":     func() []byte { return stacks(700, 16_384) },
	"too-deep-stack":  func() []byte { return stacks(1, 8_000_000) },
	"spans": func() []byte {
		r := jfrtest.Example()
		for i := range uint64(900_000) {
			r.ExecutionSample(1000+i, 1, 1, 1, jfrtest.Context{Span: i + 1, TraceLow: i + 1, TraceHigh: 1 << 62})
		}
		return r.Bytes()
	},
	"integers": func() []byte {
		r := jfrtest.Example()
		for range 490_000 {
			r.Event(jfrtest.ClassMonitorEnter, slices.Repeat([]uint64{1<<64 - 1}, 11)...)
		}
		return r.Bytes()
	},
	"truncated": func() []byte {
		all := distinctEvents()
		binary.BigEndian.PutUint64(all[8:], uint64(len(all)-1))
		return all[:len(all)-1]
	},
	"claimed-frames": func() []byte {
		return withPools(longs(20, 1, 0, 0, 0, 1, 1, jfrtest.ClassStackTrace, 1, 1, 0, manyUnits))
	},
	"linked-pools":   linkedPools,
	"classes":        func() []byte { return classes(10_000, 250) },
	"deep-metadata":  deepMetadata,
	"unknown-events": unknownEvents,
}

func longs(values ...uint64) (out []byte) {
	for _, value := range values {
		out = jfrtest.AppendLong(out, value)
	}
	return out
}

// claimedStrings is a chunk of 80 bytes whose metadata claim as many strings as a number can say: 16 bytes each, 64 GiB.
func claimedStrings() []byte { return chunkOf(longs(0, 0, 0, 0, 0, manyUnits), longs(0, 1)) }

// chunkOf returns a chunk of these parts. The metadata begin right behind the header.
func chunkOf(metadata, pools []byte) []byte {
	chunk := slices.Concat(make([]byte, jfrtest.HeaderBytes), metadata, pools)
	copy(chunk, "FLR\x00\x00\x02")
	for i, value := range []int{len(chunk), jfrtest.HeaderBytes + len(metadata), jfrtest.HeaderBytes} {
		binary.BigEndian.PutUint64(chunk[8+8*i:], uint64(value))
	}
	binary.BigEndian.PutUint32(chunk[64:], 1)
	return chunk
}

// withPools returns a recording whose constant pools are followed by these, which the header names.
func withPools(pools []byte) []byte {
	return endingWith(append(jfrtest.Example().Bytes(), pools...), len(pools))
}

// endingWith makes the last bytes of a recording its constant pools.
func endingWith(recording []byte, size int) []byte {
	binary.BigEndian.PutUint64(recording[8:], uint64(len(recording)))
	binary.BigEndian.PutUint64(recording[16:], uint64(len(recording)-size))
	return recording
}

// pools returns a recording with so many constants more.
func pools(n uint64, add func(r *jfrtest.Recording, i uint64)) []byte {
	r := jfrtest.Example()
	for i := range n {
		add(r, 1000+i)
	}
	return r.Bytes()
}

// shallowStacks has stacks of one frame, which no event has.
func shallowStacks() []byte {
	return pools(3_000_000, func(r *jfrtest.Recording, i uint64) {
		r.ConstantAt(jfrtest.ClassStackTrace, i, longs(0, 1, 1, i&63, 0, 1))
	})
}

// stacks has samples with stacks of their own, of so many frames.
func stacks(n, frames int) []byte {
	r := jfrtest.Example()
	for i := range uint64(n) {
		fields := append(longs(0, uint64(frames)), bytes.Repeat(longs(1, i, 0, 1), frames)...)
		r.ConstantAt(jfrtest.ClassStackTrace, 1000+i, fields)
		r.ExecutionSample(1000, 1, 1000+i, 1, jfrtest.Context{})
	}
	return r.Bytes()
}

func equalEvents() []byte {
	r := jfrtest.Example()
	for i := range uint64(990_000) {
		r.ExecutionSample(1000+i, 1, 1, 1, jfrtest.Context{})
	}
	return r.Bytes()
}

// distinctEvents has samples with stacks and functions of their own.
func distinctEvents() []byte {
	r := jfrtest.Example()
	for i := range uint64(300_000) {
		id := 1000 + i
		r.ConstantAt(jfrtest.ClassSymbol, id, jfrtest.AppendText(nil, fmt.Sprintf("f%d", i)))
		r.ConstantAt(jfrtest.ClassMethod, id, longs(1, id))
		r.ConstantAt(jfrtest.ClassStackTrace, id, longs(0, 1, id, i, 0, 1))
		r.ExecutionSample(1000+i, 1, id, 1, jfrtest.Context{})
	}
	return r.Bytes()
}

// longNames has methods that all repeat the name of one class.
func longNames() []byte {
	r := jfrtest.Example()
	class := r.Constant(jfrtest.ClassClass, longs(r.Symbol(strings.Repeat("c", 1<<20-1))))
	for id := uint64(1000); id < 50_000; id++ {
		r.ConstantAt(jfrtest.ClassMethod, id, longs(class, 1))
		r.ConstantAt(jfrtest.ClassStackTrace, id, longs(0, 1, id, 1, 0, 1))
		r.ExecutionSample(1000, 1, id, 1, jfrtest.Context{})
	}
	return r.Bytes()
}

// linkedPools has a chain of constant pools, each of which names the one before it, without a constant.
func linkedPools() []byte {
	const size = 15
	pool := func(back int64) []byte { return longs(size, 1, 0, 0, uint64(back), 0, 0) }
	recording := jfrtest.Example().Bytes()
	first := int64(binary.BigEndian.Uint64(recording[16:]))
	recording = append(recording, pool(first-int64(len(recording)))...)
	recording = append(recording, bytes.Repeat(pool(-size), 4_000_000)...)
	return endingWith(recording, size)
}

// classes has classes of events that nothing refers to.
func classes(n, fields int) []byte {
	r := jfrtest.Example()
	all := slices.Repeat([]jfrtest.Field{{Name: "field", Class: jfrtest.ClassLong}}, fields)
	for i := range n {
		r.Classes = append(r.Classes, jfrtest.Class{ID: 1000 + i, Name: fmt.Sprintf("c%d", i), Fields: all})
	}
	return r.Bytes()
}

// deepMetadata has elements in elements. Each is a name, no attribute and one child.
func deepMetadata() []byte {
	head := append(longs(0, 0, 0, 0, 0, 1), jfrtest.AppendText(nil, "root")...)
	return chunkOf(append(head, bytes.Repeat(longs(0, 0, 1), 20_000_000)...), longs(0, 1))
}

// unknownEvents has events of a class that nothing reads.
func unknownEvents() []byte {
	r := jfrtest.Example()
	r.Classes = append(r.Classes, jfrtest.Class{ID: 1000, Name: "jdk.CPULoad"})
	for range 15_000_000 {
		r.RawEvent(1000, nil)
	}
	return r.Bytes()
}

// labelContext is an entry of a labels snapshot: a context without labels.
func labelContext() []byte { return []byte{0x0a, 0x02, 0x08, 0x01} }

func inLZ4(recording []byte) []byte {
	var out bytes.Buffer
	writer := lz4.NewWriter(&out)
	_, _ = writer.Write(recording) // A buffer takes everything.
	_ = writer.Close()
	return out.Bytes()
}

// inZip has files of one content.
func inZip(recording []byte, files ...string) []byte {
	var out bytes.Buffer
	archive := zip.NewWriter(&out)
	for _, name := range files {
		file, err := archive.Create(name)
		if err != nil {
			panic(err)
		}
		_, _ = file.Write(recording)
	}
	_ = archive.Close()
	return out.Bytes()
}
