// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package adversary

import (
	"fmt"
	"strings"
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
		asBody("ingest-long-name", func() []byte { return zstandard(longName(4<<20-16, 1000)) }),
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
			return zstandard(form(filling(part("profile", "profile.pprof", nil).plain(), 60<<20)))
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
			return form(attachment(zstandard(longName(4<<20-16, 1000)), 15), plainEvent()).plain()
		}),
		atForm("datadog-event-long-tags", path, "gzip", func() []byte {
			return gzipped(form(attachment(gzipped(smallProfile()), 1), event(join(text(`{"tags_profiler":"`), repeat([]byte(`k:v,`), 1_000_000), text(`"}`)))))
		}),
		atForm("datadog-event-ignored-escapes", path, "gzip", func() []byte {
			return gzipped(form(attachment(gzipped(smallProfile()), 1), event(join(text(`{"ignored":"`), filling([]byte("\\u0000"), 60<<20), text(`"}`)))))
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
