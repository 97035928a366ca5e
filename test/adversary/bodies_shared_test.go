// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package adversary

import (
	"encoding/binary"

	"google.golang.org/protobuf/encoding/protowire"
)

// sharedParts are valid messages whose profiles, or mappings, share what is long: to read it for each of them takes long.
func sharedParts() []body {
	return []body{
		otlp("otlp-1000-profiles-of-one-map", profilesPath, func() content {
			pairs := counting(100_000, func(to []byte, i int) []byte {
				return appendField(to, 1, appendField(appendField(nil, 1, binary.AppendUvarint(nil, uint64(i))), 2, nil))
			})
			return join(resourceOf(timedProfiles(1000, field(11, text("\x01")))), dictionaryOf(field(6, number(1, 3), field(2, field(6, pairs))), field(stackTable, indices(1))))
		}),
		otlp("otlp-1000-profiles-of-one-location", profilesPath, func() content {
			location := field(2, number(2, 1), field(4, repeat([]byte{1}, 1_000_000)))
			return join(resourceOf(timedProfiles(1000)), dictionaryOf(attributesOf(1), location, field(stackTable, field(1, text("\x02")))))
		}),
		otlp("otlp-10000-comments-of-one-key", profilesPath, func() content {
			all := counting(10_000, func(to []byte, i int) []byte { return protowire.AppendVarint(to, uint64(i+1)) })
			attributes := counting(10_000, func(to []byte, i int) []byte {
				return appendField(to, 6, appendField([]byte{8, 4}, 2, appendNumber(nil, 3, uint64(i+1))))
			})
			return join(resourceOf(timedProfiles(1, field(11, all))),
				dictionaryOf(field(5, repeat([]byte{'k'}, 1<<20)), attributes, field(stackTable, indices(1))))
		}),
		atPprof("pprof-mappings-of-one-build-id", func() []byte {
			const mappings = 60_000
			var entry []byte
			return zstandard(join(head("f"), field(pprofString, repeat([]byte{'b'}, longestName)),
				counting(mappings, func(to []byte, i int) []byte {
					entry = appendNumber(appendNumber(appendNumber(entry[:0], 1, uint64(i+1)), 2, uint64(i)), 3, uint64(i+1))
					return appendField(to, pprofMapping, appendNumber(entry, 6, 4))
				}),
				counting(mappings, func(to []byte, i int) []byte {
					return appendField(to, pprofLocation, appendNumber(appendNumber(entry[:0], 1, uint64(i+1)), 2, uint64(i+1)))
				}),
				counting(mappings, func(to []byte, i int) []byte {
					return appendField(to, pprofSample, appendField([]byte{0x12, 1, 1}, sampleLocation, protowire.AppendVarint(nil, uint64(i+1))))
				})))
		}),
	}
}

// timedProfiles are profiles of different times, with a sample of stack 1 each.
func timedProfiles(times int, more ...content) content {
	rest := join(append(more, samplesOf(1))...).plain()
	return counting(times, func(to []byte, i int) []byte {
		profile := protowire.AppendFixed64(protowire.AppendTag([]byte{0x0a, 4, 8, 1, 0x10, 2}, 3, protowire.Fixed64Type), uint64(1_800_000_000_000_000_000+i))
		return appendField(to, 2, append(profile, rest...))
	})
}
