// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package adversary

import (
	"fmt"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
)

const boundary = "boundary-of-the-form"

// part is a part of a form.
func part(name, file string, value content) content {
	return join(text(fmt.Sprintf("--%s\r\nContent-Disposition: form-data; name=%q; filename=%q\r\n\r\n", boundary, name, file)), value, text("\r\n"))
}

func form(parts ...content) content { return join(join(parts...), text("--"+boundary+"--\r\n")) }

func atForm(name, path, encoding string, wire func() []byte) body {
	headers := []string{"Content-Type", "multipart/form-data; boundary=" + boundary}
	if encoding != "" {
		headers = append(headers, "Content-Encoding", encoding)
	}
	return body{name: name, to: pprofServer, path: path, headers: headers, wire: wire}
}

// ingestBodies are for Pyroscope's older API.
func ingestBodies() []body {
	const path = "/ingest?name=hostile&format=pprof&from=1&until=2"
	asBody := func(name string, wire func() []byte) body {
		return body{name: name, to: pprofServer, path: path, wire: wire}
	}
	mappings := func() content { return literal(gzipped(emptyMappings())) }
	return []body{
		asBody("ingest-empty-mappings", func() []byte { return gzipped(emptyMappings()) }),
		asBody("ingest-long-name", func() []byte { return zstandard(longName(longestName, 1000)) }),
		atForm("ingest-form-empty-mappings", "/ingest?name=hostile", "", func() []byte {
			return form(part("profile", "profile.pprof", mappings())).plain()
		}),
		atForm("ingest-form-zstd-63-mib", "/ingest?name=hostile", "zstd", func() []byte {
			return zstandard(form(part("profile", "profile.pprof", emptyMappings())))
		}),
		atForm("ingest-form-sample-types", "/ingest?name=hostile", "gzip", func() []byte {
			types := join(text("{"), counting(500_000, func(to []byte, i int) []byte {
				return fmt.Appendf(to, `"type%d":{"units":"u","display-name":"d","aggregation":"sum"},`, i)
			}), text(`"z":{}}`))
			return gzipped(form(part("profile", "profile.pprof", literal(gzipped(smallProfile()))), part("sample_type_config", "types.json", types)))
		}),
		atForm("ingest-form-deep-sample-types", "/ingest?name=hostile", "gzip", func() []byte {
			deep := join(repeat([]byte(`{"a":`), 5_000_000), text("1"), repeat([]byte("}"), 5_000_000))
			return gzipped(form(part("profile", "profile.pprof", literal(gzipped(smallProfile()))), part("sample_type_config", "types.json", deep)))
		}),
		atForm("ingest-form-many-parts", "/ingest?name=hostile", "zstd", func() []byte {
			return zstandard(form(filling(part("x", "", nil).plain(), 60<<20)))
		}),
	}
}

// datadogBodies are for Datadog's API.
func datadogBodies() []body {
	const path = "/profiling/v1/input"
	event := func(c content) content { return part("event", "event.json", c) }
	plainEvent := func() content { return event(text(`{"tags_profiler":"service:hostile"}`)) }
	attachment := func(wire []byte, times int) content {
		var all content
		for i := range times {
			all = append(all, part("cpu.pprof", fmt.Sprintf("cpu%d.pprof", i), literal(wire))...)
		}
		return all
	}
	return []body{
		atForm("datadog-empty-mappings", path, "", func() []byte {
			return form(attachment(gzipped(emptyMappings()), 1), plainEvent()).plain()
		}),
		atForm("datadog-200-attachments", path, "", func() []byte {
			return form(attachment(zstandard(emptyMappings()), 200), plainEvent()).plain()
		}),
		atForm("datadog-long-name-attachments", path, "", func() []byte {
			return form(attachment(zstandard(longName(longestName, 1000)), 15), plainEvent()).plain()
		}),
		atForm("datadog-event-long-tags", path, "gzip", func() []byte {
			return gzipped(form(attachment(gzipped(smallProfile()), 1), event(join(text(`{"tags_profiler":"`), repeat([]byte(`k:v,`), 1_000_000), text(`"}`)))))
		}),
		atForm("datadog-event-ignored-escapes", path, "gzip", func() []byte {
			return gzipped(form(attachment(gzipped(smallProfile()), 1), event(join(text(`{"ignored":"`), filling([]byte("\\u0000"), 4<<20-64), text(`"}`)))))
		}),
		atForm("datadog-long-start", path, "zstd", func() []byte {
			return zstandard(form(attachment(gzipped(smallProfile()), 1), part("start", "", filling([]byte("\x01\xff"), 60<<20))))
		}),
		atForm("datadog-event-long-start", path, "zstd", func() []byte {
			return zstandard(form(attachment(gzipped(smallProfile()), 1), event(join(text(`{"start":"\n`), filling([]byte("\xff"), 4<<20-64), text(`"}`)))))
		}),
		atForm("datadog-event-deep", path, "zstd", func() []byte {
			return zstandard(form(attachment(gzipped(smallProfile()), 1), event(join(text(`{"info":`), repeat([]byte("["), 2_000_000), repeat([]byte("]"), 2_000_000), text("}")))))
		}),
		atForm("datadog-many-events", path, "zstd", func() []byte {
			one := event(text(`{"tags_profiler":"` + strings.Repeat("key:value,", 20) + `"}`)).plain()
			return zstandard(form(attachment(gzipped(smallProfile()), 1), repeat(one, 200_000)))
		}),
		atForm("datadog-many-ignored-parts", path, "zstd", func() []byte {
			return zstandard(form(filling(part("x", "x.bin", nil).plain(), 60<<20)))
		}),
	}
}

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
