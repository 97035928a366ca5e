// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package adversary

import (
	"slices"

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
		otlpJSON("otlp-json-indices", profilesPath, jsonOf(`{"dictionary":{"stackTable":[{"locationIndices":[`, `0`, `]}]}}`)),
	)
}
