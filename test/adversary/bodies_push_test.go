// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package adversary

import "google.golang.org/protobuf/encoding/protowire"

const (
	pushPath    = "/push.v1.PusherService/Push"
	parcaPath   = "/parca.profilestore.v1alpha1.ProfileStoreService/WriteRaw"
	parcaJSON   = "/api/profiles/writeraw"
	callLabels  = 1
	callSamples = 2
)

func call(name, path, encoding string, wire func() []byte) body {
	headers := []string{"Content-Type", "application/proto"}
	if encoding != "" {
		headers = append(headers, "Content-Encoding", encoding)
	}
	return body{name: name, to: pprofServer, path: path, headers: headers, wire: wire}
}

func callJSON(name, path string, c func() content) body {
	headers := []string{"Content-Type", "application/json", "Content-Encoding", "gzip"}
	return body{name: name, to: pprofServer, path: path, headers: headers, wire: func() []byte { return gzipped(c()) }}
}

// callGRPC is a call whose message is compressed, as gRPC does it.
func callGRPC(name, path string, message func() content) body {
	wire := func() []byte { return grpcMessage(true, gzipped(message())) }
	return body{name: name, to: pprofServer, path: path, headers: grpcHeaders("gzip"), wire: wire}
}

// callLabel is a label of a series.
func callLabel(name, value string) content {
	return field(callLabels, textField(1, name), textField(2, value))
}

// callSample is a profile of a series.
func callSample(profile []byte) content { return field(callSamples, field(1, literal(profile))) }

// pushMessage is a push.v1.PushRequest, or with another number a WriteRawRequest.
func pushMessage(series protowire.Number, labels content, profile []byte, times int) content {
	return field(series, labels, repeat(callSample(profile).plain(), times))
}

// pushBodies are for Pyroscope's newer API.
func pushBodies() []body {
	labels := func() content { return callLabel("service_name", "hostile") }
	bomb := func() []byte { return gzipped(emptyMappings()) }
	inSeries := func(c content) content {
		return join(text(`{"series":[{"labels":[{"name":"service_name","value":"hostile"}],"samples":[`), c, text(`]}]}`))
	}
	const few = 20 << 20 // what JSON costs much time for
	return []body{
		call("push-empty-mappings", pushPath, "", func() []byte { return pushMessage(1, labels(), bomb(), 1).plain() }),
		call("push-200-bombs", pushPath, "", func() []byte { return pushMessage(1, labels(), zstandard(emptyMappings()), 200).plain() }),
		call("push-empty-series", pushPath, "gzip", func() []byte { return gzipped(filling(empty(1), inflatedBytes)) }),
		call("push-empty-labels", pushPath, "zstd", func() []byte { return zstandard(field(1, filling(empty(callLabels), inflatedBytes))) }),
		call("push-empty-samples", pushPath, "zstd", func() []byte { return zstandard(field(1, filling(empty(callSamples), inflatedBytes))) }),
		call("push-million-labels", pushPath, "zstd", func() []byte {
			return zstandard(pushMessage(1, repeat(callLabel("k", "v").plain(), 1_000_000), gzipped(smallProfile()), 1))
		}),
		call("push-unknown-groups", pushPath, "zstd", func() []byte {
			return zstandard(join(filling([]byte{0x9b, 0x06}, 30<<20), filling([]byte{0x9c, 0x06}, 30<<20)))
		}),
		call("push-63-mib-of-one-profile", pushPath, "zstd", func() []byte { return zstandard(pushMessage(1, labels(), emptyMappings().plain(), 1)) }),
		callJSON("push-json-long-base64", pushPath, func() content {
			return inSeries(join(text(`{"rawProfile":"`), filling([]byte("GgAaABoA"), inflatedBytes), text(`"}`)))
		}),
		callJSON("push-json-escapes-in-ignored", pushPath, func() content {
			return join(text(`{"ignored":"`), filling([]byte("\\u0000"), 60<<20), text(`","series":[]}`))
		}),
		callJSON("push-json-escapes-in-ignored-key", pushPath, func() content {
			return join(text(`{"`), filling([]byte("\\u0000"), 60<<20), text(`":1,"series":[]}`))
		}),
		callJSON("push-json-escapes-in-label", pushPath, func() content {
			return join(text(`{"series":[{"labels":[{"name":"`), filling([]byte("\\u0061"), 60<<20), text(`","value":"v"}]}]}`))
		}),
		callJSON("push-json-empty-samples", pushPath, func() content { return inSeries(join(filling([]byte("{},"), few), text("{}"))) }),
		callJSON("push-json-empty-series", pushPath, func() content {
			return join(text(`{"series":[`), filling([]byte("{},"), few), text("{}]}"))
		}),
		callJSON("push-json-deep", pushPath, func() content {
			return join(text(`{"ignored":`), repeat([]byte("["), 8_000_000), repeat([]byte("]"), 8_000_000), text("}"))
		}),
		callGRPC("push-grpc-empty-mappings", pushPath, func() content { return pushMessage(1, labels(), zstandard(emptyMappings()), 1) }),
		callGRPC("push-grpc-63-mib", pushPath, func() content { return pushMessage(1, labels(), emptyMappings().plain(), 1) }),
		callGRPC("push-grpc-empty-series", pushPath, func() content { return filling(empty(1), inflatedBytes) }),
	}
}

// parcaBodies are for Parca's API.
func parcaBodies() []body {
	labels := func() content { return field(1, callLabel("job", "hostile")) }
	return []body{
		call("parca-empty-mappings", parcaPath, "", func() []byte { return pushMessage(2, labels(), gzipped(emptyMappings()), 1).plain() }),
		call("parca-empty-label-sets", parcaPath, "zstd", func() []byte { return zstandard(field(2, filling(empty(1), inflatedBytes))) }),
		callGRPC("parca-grpc-200-bombs", parcaPath, func() content { return pushMessage(2, labels(), zstandard(emptyMappings()), 200) }),
		callJSON("parca-json-long-base64", parcaJSON, func() content {
			return join(text(`{"series":[{"samples":[{"rawProfile":"`), filling([]byte("GgAaABoA"), inflatedBytes), text(`"}]}]}`))
		}),
	}
}
