// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package adversary

import (
	"strconv"

	"google.golang.org/protobuf/encoding/protowire"
)

// dictionaryOf is a valid dictionary: one function, one location, and what more says of further entries. Its strings are
// "", "cpu", "nanoseconds" and "key".
func dictionaryOf(more ...content) content {
	tables := []content{
		repeat(empty(1), 1),
		repeat(empty(2), 1), field(2, field(3, number(1, 1))),
		repeat(empty(3), 1), field(3, number(1, 3)),
		repeat(empty(4), 1),
		repeat(empty(5), 1), textField(5, "cpu"), textField(5, "nanoseconds"), textField(5, "key"),
		repeat(empty(6), 1),
		repeat(empty(stackTable), 1),
	}
	return field(dictionaryField, append(tables, more...)...)
}

// indices are the same index so many times, packed.
func indices(times int) content { return field(1, repeat([]byte{1}, times)) }

// attributesOf are distinct attributes, from index 1 on.
func attributesOf(times int) content {
	return counting(times, func(to []byte, i int) []byte {
		value := appendNumber(nil, 3, uint64(i+1))
		return appendField(to, 6, appendField([]byte{8, 3}, 2, value))
	})
}

// profileOf is a profile with samples.
func profileOf(samples content) content {
	return field(2, field(1, number(1, 1), number(2, 2)), samples)
}

// resourceOf is the resource of a service, with profiles in one scope.
func resourceOf(profiles content) content {
	service := field(1, textField(1, "service.name"), field(2, textField(1, "hostile")))
	return field(1, field(1, service), field(2, profiles))
}

// samplesOf are samples of stack 1 that differ in an attribute.
func samplesOf(times int) content {
	return counting(times, func(to []byte, i int) []byte {
		sample := appendField([]byte{8, 1}, 2, protowire.AppendVarint(nil, uint64(i+1)))
		return appendField(to, 2, appendField(sample, 4, []byte{1}))
	})
}

// otlpSizes are valid messages that become large where they are worked on.
func otlpSizes() []body {
	deepStack := func(depth, samples int) func() content {
		return func() content {
			return join(resourceOf(profileOf(samplesOf(samples))), dictionaryOf(attributesOf(samples), field(stackTable, indices(depth))))
		}
	}
	longName := func(bytes, samples int) content {
		long := field(3, number(1, 4))
		location := field(2, field(3, number(1, 2)))
		return join(resourceOf(profileOf(samplesOf(samples))),
			dictionaryOf(attributesOf(samples), field(5, repeat([]byte{'n'}, bytes)), long, location, field(stackTable, field(1, text("\x02")))))
	}
	return []body{
		otlp("otlp-stack-of-900000", profilesPath, deepStack(900_000, 1000)),
		otlpCall("otlp-grpc-stack-of-900000", profilesCall, deepStack(900_000, 1000)),
		otlp("otlp-stack-of-10-million", profilesPath, deepStack(10_000_000, 1000)),
		otlp("otlp-200-profiles-of-one-stack", profilesPath, func() content {
			return join(resourceOf(repeat(profileOf(samplesOf(1)).plain(), 200)),
				dictionaryOf(attributesOf(1), field(stackTable, indices(900_000))))
		}),
		otlp("otlp-100000-profiles", profilesPath, func() content {
			return join(resourceOf(repeat(profileOf(samplesOf(1)).plain(), 100_000)),
				dictionaryOf(attributesOf(1), field(stackTable, indices(1000))))
		}),
		otlp("otlp-long-name-in-1000-samples", profilesPath, func() content { return longName(4<<20, 1000) }),
		otlp("otlp-long-name-in-100000-samples", profilesPath, func() content { return longName(3_900_000, 100_000) }),
		otlp("otlp-values-of-one-sample", profilesPath, func() content {
			return join(resourceOf(profileOf(field(2, number(1, 0), field(4, repeat([]byte{1}, otlpBytes))))), dictionaryOf())
		}),
		otlp("otlp-attributes-of-one-sample", profilesPath, func() content {
			return join(resourceOf(profileOf(field(2, field(4, text("\x01")), field(2, repeat([]byte{1}, otlpBytes))))), dictionaryOf(attributesOf(1)))
		}),
		otlp("otlp-original-payloads", profilesPath, func() content {
			one := field(2, textField(9, "pprof"), field(10, literal(make([]byte, 900<<10)))).plain()
			return join(resourceOf(repeat(one, 20)), dictionaryOf())
		}),
		otlp("otlp-many-services", profilesPath, func() content {
			samples := samplesOf(1).plain()
			return join(counting(100_000, func(to []byte, i int) []byte {
				name := appendField(nil, 1, strconv.AppendInt([]byte("hostile"), int64(i), 10))
				attribute := appendField(appendField(nil, 1, []byte("service.name")), 2, name)
				resource := appendField(nil, 1, appendField(nil, 1, attribute))
				profile := appendField(nil, 2, append([]byte{0x0a, 4, 8, 1, 0x10, 2}, samples...))
				return appendField(to, 1, appendField(resource, 2, profile))
			}), dictionaryOf(attributesOf(1), field(stackTable, indices(10))))
		}),
	}
}
