// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package adversary

import (
	"strconv"

	"google.golang.org/protobuf/encoding/protowire"
)

// pprofSizes are valid profiles that become large where they are worked on.
func pprofSizes() []body {
	return []body{
		atPprof("pprof-long-name-in-1000-samples", func() []byte { return zstandard(longName(longestName, 1000)) }),
		atPprof("pprof-long-name-in-100000-samples", func() []byte { return zstandard(longName(longestName, 100_000)) }),
		atPprof("pprof-deep-stack-in-1000-samples", func() []byte { return zstandard(sharedStack(16_000, 1000)) }),
		atPprof("pprof-deep-distinct-stacks", func() []byte { return zstandard(distinctStacks(1000, 10_000, locations)) }),
		atPprof("pprof-valid-63-mib", func() []byte { return zstandard(validProfile(950_000)) }),
		atPprof("pprof-valid-63-mib-gzip", func() []byte { return gzipped(validProfile(950_000)) }),
		atPprof("pprof-long-strings", func() []byte {
			return zstandard(join(head(), onlySample(), filling(field(pprofString, repeat([]byte{'s'}, longestName)).plain(), inflatedBytes)))
		}),
		atPprof("pprof-256-sample-types", func() []byte {
			types := repeat(field(pprofSampleType, number(1, 1), number(2, 2)).plain(), 255)
			samples := repeat(field(pprofSample, field(sampleValue, repeat([]byte{1}, 256))).plain(), 3_900)
			return zstandard(join(head(), types, samples))
		}),
		atPprof("pprof-types-of-a-long-period", func() []byte {
			var number [8]byte
			types := counting(256, func(to []byte, i int) []byte {
				return appendField(to, pprofSampleType, appendNumber(appendNumber(nil, 1, uint64(i+1)), 2, 1))
			})
			names := counting(256, func(to []byte, i int) []byte {
				return appendField(to, pprofString, strconv.AppendInt(number[:0], int64(i), 36))
			})
			period := literal(appendField(nil, pprofPeriodType, appendNumber(appendNumber(nil, 1, 257), 2, 1)))
			values := field(pprofSample, field(sampleValue, repeat([]byte{1}, 256)))
			return zstandard(join(field(pprofString), types, names, field(pprofString, repeat([]byte{1}, 1<<20)), period, values))
		}),
		atPprof("pprof-distinct-strings", func() []byte {
			var name [8]byte
			return zstandard(join(head(), counting(4_000_000, func(to []byte, i int) []byte {
				return appendField(to, pprofString, strconv.AppendInt(name[:0], int64(i), 36))
			}), labelled(950_000, func(i int) []byte { return appendNumber([]byte{8, 1}, 2, uint64(i*4+3)) })))
		}),
	}
}

// oneFrame is a mapping-less location of one function, whose name is the third string.
func oneFrame() content {
	return join(
		field(pprofFunction, number(1, 1), number(2, 3)),
		field(pprofLocation, number(1, 1), field(locationLine, number(1, 1))))
}

// labelled are samples with a value, the given fields, and a label that differs.
func labelled(samples int, label func(i int) []byte, more ...content) content {
	fixed := join(append(more, literal([]byte{0x12, 1, 1}))...).plain()
	var sample []byte
	return counting(samples, func(to []byte, i int) []byte {
		sample = appendField(append(sample[:0], fixed...), sampleLabel, label(i))
		return appendField(to, pprofSample, sample)
	})
}

// numbered is a label with a key and a number that differs.
func numbered(key uint64) func(i int) []byte {
	return func(i int) []byte { return appendNumber(appendNumber(nil, 1, key), 3, uint64(i+1)) }
}

// longestName is as many bytes as a string of a pprof may have.
const longestName = 1 << 20

// longName is samples that differ in a label, with one function of a long name.
func longName(bytes, samples int) content {
	return join(head(), field(pprofString, repeat([]byte{'n'}, bytes)), oneFrame(), textField(pprofString, "key"),
		labelled(samples, numbered(4), number(sampleLocation, 1)))
}

// sharedStack is samples that differ in a label and share a stack.
func sharedStack(depth, samples int) content {
	return join(head("f", "key"), field(pprofFunction, number(1, 1), number(2, 3)), locations(depth),
		labelled(samples, numbered(4), field(sampleLocation, ids(depth))))
}

// ids are the numbers from 1, as a packed field has them.
func ids(times int) content {
	return counting(times, func(to []byte, i int) []byte { return protowire.AppendVarint(to, uint64(i+1)) })
}

// locations are so many lines of one function.
func locations(times int) content {
	var location []byte
	return counting(times, func(to []byte, i int) []byte {
		location = appendField(appendNumber(location[:0], 1, uint64(i+1)), locationLine, appendNumber([]byte{8, 1}, 2, uint64(i+1)))
		return appendField(to, pprofLocation, location)
	})
}

// unnamed are locations without a function, which pages name by their addresses.
func unnamed(times int) content {
	return counting(times, func(to []byte, i int) []byte {
		return appendField(to, pprofLocation, appendNumber(appendNumber(nil, 1, uint64(i+1)), 3, uint64(i+1)))
	})
}

// distinctStacks are samples of which each has the same deep stack, but for its root: a tree has no node for two of them.
func distinctStacks(samples, depth int, locations func(times int) content) content {
	rest := ids(depth).plain()
	var stack []byte
	return join(head("f"), field(pprofFunction, number(1, 1), number(2, 3)), locations(depth+samples),
		counting(samples, func(to []byte, i int) []byte {
			stack = protowire.AppendVarint(append(stack[:0], rest...), uint64(depth+i+1))
			return appendField(to, pprofSample, appendField([]byte{0x12, 1, 1}, sampleLocation, stack))
		}))
}

// validProfile is a profile like those that programs have, of so many samples of 15 frames: about 63 MiB for 950,000. Its
// stacks come again, so that it is small on the wire.
func validProfile(samples int) content {
	const functions = 60_000
	var entry, stack []byte
	names := counting(functions, func(to []byte, i int) []byte {
		entry = strconv.AppendInt(append(entry[:0], "github.com/acme/service/internal/handler.Handle"...), int64(i), 10)
		return appendField(to, pprofString, entry)
	})
	table := counting(functions, func(to []byte, i int) []byte {
		entry = appendNumber(appendNumber(entry[:0], 1, uint64(i+1)), 2, uint64(i+4))
		return appendField(to, pprofFunction, entry)
	})
	frames := counting(functions, func(to []byte, i int) []byte {
		entry = appendNumber(appendNumber(entry[:0], 1, uint64(i+1)), 3, uint64(i)<<4)
		entry = appendField(entry, locationLine, appendNumber([]byte{0x10, 100}, 1, uint64(i+1)))
		return appendField(to, pprofLocation, entry)
	})
	return join(head("key"), names, table, frames, counting(samples, func(to []byte, i int) []byte {
		stack = stack[:0]
		for j := range 15 {
			stack = protowire.AppendVarint(stack, uint64((i%500*7+j*j*1013)%functions+1))
		}
		entry = appendField(append(entry[:0], 0x12, 1, 1), sampleLocation, stack)
		return appendField(to, pprofSample, appendField(entry, sampleLabel, numbered(3)(i)))
	}))
}
