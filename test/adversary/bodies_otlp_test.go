// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package adversary

import (
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
)

const (
	// otlpBytes is a little less than an HTTP server of the Collector takes, grpcBytes than one of gRPC.
	otlpBytes = 19 << 20
	grpcBytes = 4<<20 - 4<<10

	profilesPath = "/v1development/profiles"
	profilesCall = "/opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export"

	dictionaryField = 2
	stackTable      = 7
)

// otlp is a message of OTLP over HTTP, compressed.
func otlp(name, path string, message func() content) body {
	headers := []string{"Content-Type", "application/x-protobuf", "Content-Encoding", "zstd"}
	return body{name: name, to: otlpHTTP, path: path, headers: headers, wire: func() []byte { return zstandard(message()) }}
}

func otlpJSON(name, path string, message func() content) body {
	headers := []string{"Content-Type", "application/json", "Content-Encoding", "gzip"}
	return body{name: name, to: otlpHTTP, path: path, headers: headers, wire: func() []byte { return gzipped(message()) }}
}

// otlpCall is a message of OTLP over gRPC, compressed.
func otlpCall(name, path string, message func() content) body {
	wire := func() []byte { return grpcMessage(true, zstandard(message())) }
	return body{name: name, to: otlpGRPC, path: path, headers: grpcHeaders("zstd"), wire: wire}
}

// nestedIn puts content into a field of a message in a field of a message, from the outermost number on.
func nestedIn(c content, numbers ...protowire.Number) content {
	for _, number := range slices.Backward(numbers) {
		c = field(number, c)
	}
	return c
}

// table is an element of a message of OTLP that may be empty and come again: the fields that it is in, and its own.
type table struct {
	name    string
	numbers []protowire.Number
}

// emptyIn fills a message with empty elements.
func emptyIn(t table, size int) content {
	last := len(t.numbers) - 1
	return nestedIn(filling(empty(t.numbers[last]), size), t.numbers[:last]...)
}

// profileTables are those of the signal profiles.
var profileTables = []table{
	{"resource-profiles", []protowire.Number{1}},
	{"resource-attributes", []protowire.Number{1, 1, 1}},
	{"entity-refs", []protowire.Number{1, 1, 3}},
	{"scope-profiles", []protowire.Number{1, 2}},
	{"profiles", []protowire.Number{1, 2, 2}},
	{"samples", []protowire.Number{1, 2, 2, 2}},
	{"mappings", []protowire.Number{2, 1}},
	{"locations", []protowire.Number{2, 2}},
	{"lines", []protowire.Number{2, 2, 3}},
	{"functions", []protowire.Number{2, 3}},
	{"links", []protowire.Number{2, 4}},
	{"strings", []protowire.Number{2, 5}},
	{"attributes", []protowire.Number{2, 6}},
	{"array-values", []protowire.Number{2, 6, 2, 5, 1}},
	{"key-values", []protowire.Number{2, 6, 2, 6, 1}},
	{"stacks", []protowire.Number{2, 7}},
}

// otlpTables repeat empty elements of profiles.
func otlpTables() []body {
	var all []body
	for _, t := range profileTables {
		all = append(all, otlp("otlp-empty-"+t.name, profilesPath, func() content { return emptyIn(t, otlpBytes) }))
	}
	emptyResources := func(size int) content { return filling(field(1, field(1)).plain(), size) }
	jsonOf := func(before, element, after string) func() content {
		return func() content {
			return join(text(before), filling([]byte(element+","), otlpBytes), text(element+after))
		}
	}
	return append(all,
		otlp("otlp-empty-resources", profilesPath, func() content { return emptyResources(otlpBytes) }),
		otlpCall("otlp-grpc-empty-resources", profilesCall, func() content { return emptyResources(grpcBytes) }),
		otlpCall("otlp-grpc-empty-samples", profilesCall, func() content { return emptyIn(profileTables[5], grpcBytes) }),
		otlpCall("otlp-grpc-empty-stacks-19-mib", profilesCall, func() content { return emptyIn(profileTables[15], otlpBytes) }),
		otlpCall("otlp-grpc-1-gib", profilesCall, func() content { return filling(empty(1), 1<<30) }),
		otlpJSON("otlp-json-empty-resource-profiles", profilesPath, jsonOf(`{"resourceProfiles":[`, `{}`, `]}`)),
		otlpJSON("otlp-json-empty-samples", profilesPath, jsonOf(`{"resourceProfiles":[{"scopeProfiles":[{"profiles":[{"samples":[`, `{}`, `]}]}]}]}`)),
		otlpJSON("otlp-json-empty-strings", profilesPath, jsonOf(`{"dictionary":{"stringTable":[`, `""`, `]}}`)),
		otlpJSON("otlp-json-escapes", profilesPath, jsonOf(`{"dictionary":{"stringTable":["`, `\n\\`, `"]}}`)),
		otlpJSON("otlp-json-empty-attributes", profilesPath, jsonOf(`{"dictionary":{"attributeTable":[`, `{}`, `]}}`)),
		otlpJSON("otlp-json-empty-locations", profilesPath, jsonOf(`{"dictionary":{"locationTable":[`, `{}`, `]}}`)),
		otlpJSON("otlp-json-text-for-a-number", profilesPath, jsonOf(`{"dictionary":{"stackTable":[{"locationIndices":["`, "\x7f\x7f", `"]}]}}`)),
		otlpJSON("otlp-json-indices", profilesPath, jsonOf(`{"dictionary":{"stackTable":[{"locationIndices":[`, `0`, `]}]}}`)),
	)
}

// executableKey is the index of "process.executable.name" in the dictionary of groupsOf.
const executableKey = 4

// groupsOf is a valid message whose samples each have an executable of their own: group_by_attributes makes a resource of each.
func groupsOf(samples int, attributes ...content) content {
	executables := counting(samples, func(to []byte, i int) []byte {
		value := appendNumber(nil, 3, uint64(i+1))
		return appendField(to, 6, appendField([]byte{8, executableKey}, 2, value))
	})
	scope := field(2, profileOf(samplesOf(samples)))
	return join(
		field(1, field(1, attributes...), scope),
		dictionaryOf(textField(5, "process.executable.name"), executables, field(stackTable, indices(1))),
	)
}

// otlpGroups are for config/ebpf.yaml, which groups samples.
func otlpGroups() []body {
	large := field(1, textField(1, "large"), field(2, textField(1, strings.Repeat("x", 1<<20))))
	all := []body{
		otlp("otlp-groups", profilesPath, func() content { return groupsOf(500_000) }),
		otlp("otlp-groups-of-a-large-resource", profilesPath, func() content { return groupsOf(20_000, large) }),
		otlp("otlp-groups-of-many-attributes", profilesPath, func() content { return groupsOf(20_000, repeat(empty(1), 100_000)) }),
		otlp("otlp-groups-of-many-entities", profilesPath, func() content { return groupsOf(20_000, repeat(empty(3), 250_000)) }),
	}
	for i := range all {
		all[i].only = "ebpf"
	}
	return all
}

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
		otlp("otlp-original-payloads", profilesPath, originalPayloads),
		otlp("otlp-many-services", profilesPath, func() content {
			return join(services(100_000), dictionaryOf(attributesOf(1), field(stackTable, indices(10))))
		}),
		otlp("otlp-20-services-of-one-stack", profilesPath, func() content { return join(services(20), deepDictionary(60_000)) }),
		otlp("otlp-1000-services-of-one-stack", profilesPath, func() content { return join(services(1000), deepDictionary(60_000)) }),
	}
}

// services are resources of different services, each with a profile of one sample of stack 1.
func services(times int) content {
	samples := samplesOf(1).plain()
	return counting(times, func(to []byte, i int) []byte {
		name := appendField(nil, 1, strconv.AppendInt([]byte("hostile"), int64(i), 10))
		attribute := appendField(appendField(nil, 1, []byte("service.name")), 2, name)
		resource := appendField(nil, 1, appendField(nil, 1, attribute))
		profile := appendField(nil, 2, append([]byte{0x0a, 4, 8, 1, 0x10, 2}, samples...))
		return appendField(to, 1, appendField(resource, 2, profile))
	})
}

// deepDictionary is a dictionary whose stack 1 has so many different functions.
func deepDictionary(depth int) content {
	names := counting(depth, func(to []byte, i int) []byte { return appendField(to, 5, strconv.AppendInt(nil, int64(i), 36)) })
	functions := counting(depth, func(to []byte, i int) []byte { return appendField(to, 3, appendNumber(nil, 1, uint64(i+4))) })
	locations := counting(depth, func(to []byte, i int) []byte {
		return appendField(to, 2, appendField(nil, 3, appendNumber(nil, 1, uint64(i+2))))
	})
	stack := counting(depth, func(to []byte, i int) []byte { return protowire.AppendVarint(to, uint64(i+2)) })
	return dictionaryOf(attributesOf(1), names, functions, locations, field(stackTable, field(1, stack)))
}

// originalPayloads are profiles with the payloads that they were translated from.
func originalPayloads() content {
	one := field(2, textField(9, "pprof"), field(10, literal(make([]byte, 900<<10)))).plain()
	return join(resourceOf(repeat(one, 20)), dictionaryOf())
}

// deepStack returns samples that differ in an attribute and share a stack.
func deepStack(depth, samples int) func() content {
	return func() content {
		return join(resourceOf(profileOf(samplesOf(samples))), dictionaryOf(attributesOf(samples), field(stackTable, indices(depth))))
	}
}
