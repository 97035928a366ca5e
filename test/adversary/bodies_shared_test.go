// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package adversary

import (
	"encoding/binary"
	"strconv"

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
		otlp("otlp-1000-profiles-of-one-resource", profilesPath, func() content {
			long := field(1, textField(1, "k"), field(2, field(1, repeat([]byte("ab"), 1<<19))))
			return join(field(1, field(1, long), field(2, timedProfiles(1000))), dictionaryOf(attributesOf(1), field(stackTable, indices(1))))
		}),
		otlp("otlp-10000-comments-of-one-key", profilesPath, func() content {
			all := counting(10_000, func(to []byte, i int) []byte { return protowire.AppendVarint(to, uint64(i+1)) })
			return join(resourceOf(timedProfiles(1, field(11, all))),
				dictionaryOf(field(5, repeat([]byte{'k'}, 1<<20)), attributesWith(4, 10_000), field(stackTable, indices(1))))
		}),
		otlp("otlp-keys-that-repeat", profilesPath, func() content {
			pair := field(5, text("\x01\x02"))
			tables := counting(120, func(to []byte, i int) []byte {
				to = appendField(to, 1, pair.plain())
				to = appendField(to, 2, appendNumber(nil, 1, uint64(i+1)))
				return appendField(to, stackTable, appendField(nil, 1, protowire.AppendVarint(nil, uint64(i+2))))
			})
			profiles := counting(120, func(to []byte, i int) []byte {
				sample := appendField(appendNumber(nil, 1, uint64(i+1)), 2, []byte{1, 2})
				return appendField(to, 2, append([]byte{0x0a, 4, 8, 1, 0x10, 2}, appendField(nil, 2, appendField(sample, 4, []byte{1}))...))
			})
			return join(resourceOf(profiles), dictionaryOf(field(5, repeat([]byte{1}, 1<<20)), attributesWith(4, 2), tables))
		}),
		otlp("otlp-invalid-text-of-60-scopes", profilesPath, func() content { return scopesOf(60, "\xffa") }),
		otlp("otlp-text-of-180-scopes", profilesPath, func() content { return scopesOf(180, "ab") }),
		otlp("otlp-1000-locations-of-one-set", profilesPath, func() content {
			long := field(2, field(4, repeat([]byte{1}, 1_000_000)))
			return join(resourceOf(timedProfiles(1)),
				dictionaryOf(attributesOf(1), long, repeat(field(2, field(4, text("\x01"))).plain(), 1000), field(stackTable, indices(1))))
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

// scopesOf are scopes with an attribute whose value is the same text of 1 MiB.
func scopesOf(times int, text string) content {
	attribute := appendField(appendNumber(nil, 3, 3), 2, appendNumber(nil, 8, 4))
	profile := appendField(nil, 2, append([]byte{0x0a, 4, 8, 1, 0x10, 2}, samplesOf(1).plain()...))
	scopes := counting(times, func(to []byte, i int) []byte {
		scope := appendField(appendField(nil, 1, strconv.AppendInt(nil, int64(i), 10)), 3, attribute)
		return appendField(to, 2, append(appendField(nil, 1, scope), profile...))
	})
	return join(field(1, scopes), dictionaryOf(field(5, repeat([]byte(text), 1<<19)), attributesOf(1), field(stackTable, indices(1))))
}

// attributesWith are distinct attributes of a key.
func attributesWith(key byte, times int) content {
	return counting(times, func(to []byte, i int) []byte {
		return appendField(to, 6, appendField([]byte{8, key}, 2, appendNumber(nil, 3, uint64(i+1))))
	})
}

// timedProfiles are profiles of different times, with a sample of stack 1 each.
func timedProfiles(times int, more ...content) content {
	rest := join(append(more, samplesOf(1))...).plain()
	return counting(times, func(to []byte, i int) []byte {
		profile := protowire.AppendFixed64(protowire.AppendTag([]byte{0x0a, 4, 8, 1, 0x10, 2}, 3, protowire.Fixed64Type), uint64(1_800_000_000_000_000_000+i))
		return appendField(to, 2, append(profile, rest...))
	})
}
