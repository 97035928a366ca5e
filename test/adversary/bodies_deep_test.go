// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package adversary

import (
	"bytes"
	"encoding/binary"
	"slices"

	"github.com/klauspost/compress/zstd"
	"google.golang.org/protobuf/encoding/protowire"
)

const (
	logsPath    = "/v1/logs"
	tracesPath  = "/v1/traces"
	metricsPath = "/v1/metrics"
	logsCall    = "/opentelemetry.proto.collector.logs.v1.LogsService/Export"
	tracesCall  = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"
	metricsCall = "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export"
)

// deepArray is a value that holds a list that holds a value, so many times, and a text.
func deepArray(depth int) []byte { return deep(depth, []protowire.Number{5, 1}) }

// deepMap is a value that holds a list of keys with values.
func deepMap(depth int) []byte { return deep(depth, []protowire.Number{6, 1, 2}) }

// deep wraps an empty value in fields, from the outermost number on. It is written from its end.
func deep(depth int, numbers []protowire.Number) []byte {
	reversed := []byte("x\x01\x0a")
	for range depth {
		for _, number := range slices.Backward(numbers) {
			head := protowire.AppendVarint(protowire.AppendTag(nil, number, protowire.BytesType), uint64(len(reversed)))
			slices.Reverse(head)
			reversed = append(reversed, head...)
		}
	}
	slices.Reverse(reversed)
	return reversed
}

// deepAttribute is an attribute with such a value.
func deepAttribute(key string, value []byte) content {
	return field(1, textField(1, key), field(2, literal(value)))
}

// deepJSON is a value of OTLP in JSON.
func deepJSON(depth int) content {
	return join(repeat([]byte(`{"arrayValue":{"values":[`), depth), text(`{"stringValue":"x"}`), repeat([]byte("]}}"), depth))
}

// otlpDeep are values within values. A million of them ended the process where they were written as a text, more already
// where they were read.
func otlpDeep() []body {
	message := func(attribute content) content {
		return join(field(1, field(1, attribute), field(2, profileOf(samplesOf(1)))), dictionaryOf(attributesOf(1), field(stackTable, indices(1))))
	}
	uncompressed := func(name string, c func() content) body {
		b := otlp(name, profilesPath, nil)
		b.wire, b.headers = func() []byte { return c().plain() }, b.headers[:2]
		return b
	}
	json := func(key string) content {
		return join(text(`{"resourceProfiles":[{"resource":{"attributes":[{"key":"`+key+`","value":`), deepJSON(500_000),
			text(`}]},"scopeProfiles":[{"profiles":[{"samples":[{"values":[1]}]}]}]}]}`))
	}
	away := func(name string, message func() content) body {
		b := otlp(name, profilesPath, message)
		b.away = true
		return b
	}
	return []body{
		uncompressed("otlp-deep-service-name-uncompressed", func() content { return message(deepAttribute("service.name", deepArray(1_000_000))) }),
		otlp("otlp-deep-service-name", profilesPath, func() content { return message(deepAttribute("service.name", deepArray(1_000_000))) }),
		otlp("otlp-deep-other-attribute", profilesPath, func() content { return message(deepAttribute("host.name", deepArray(1_000_000))) }),
		otlp("otlp-deep-map", profilesPath, func() content { return message(deepAttribute("service.name", deepMap(1_000_000))) }),
		otlp("otlp-deep-1700000", profilesPath, func() content { return message(deepAttribute("service.name", deepArray(1_700_000))) }),
		otlp("otlp-deep-10000", profilesPath, func() content { return message(deepAttribute("service.name", deepArray(10_000))) }),
		otlp("otlp-deep-dictionary-attribute", profilesPath, func() content {
			attribute := field(6, number(1, 3), field(2, literal(deepArray(1_000_000))))
			return join(resourceOf(profileOf(samplesOf(1))), dictionaryOf(attribute, field(stackTable, indices(1))))
		}),
		otlpCall("otlp-grpc-deep-service-name", profilesCall, func() content { return message(deepAttribute("service.name", deepArray(400_000))) }),
		otlpJSON("otlp-json-deep-service-name", profilesPath, func() content { return json("service.name") }),
		otlpJSON("otlp-json-deep-unknown-field", profilesPath, func() content {
			return join(text(`{"unknown":`), repeat([]byte("["), 8_000_000), repeat([]byte("]"), 8_000_000), text("}"))
		}),
		away("otlp-deep-in-the-queue", func() content { return message(deepAttribute("host.name", deepArray(30))) }),
		away("otlp-stacks-in-the-queue", deepStack(900_000, 1000)),
		away("otlp-payloads-in-the-queue", originalPayloads),
	}
}

// smallProfile is valid, and says when it was taken: its id is the same whenever it is sent.
func smallProfile() content {
	const taken = 1_795_241_154_000_000_000
	return join(head("main.work"), oneFrame(), onlySample(number(sampleLocation, 1)), number(pprofTime, taken))
}

// emptyMappings is the body that the others of this file wrap.
func emptyMappings() content {
	return join(head(), onlySample(), filling(empty(pprofMapping), inflatedBytes))
}

// pprofWrappings are the same in layers, and layers that cost by themselves.
func pprofWrappings() []body {
	encoded := func(name, encoding string, wire func() []byte) body {
		b := atPprof(name, wire)
		b.headers = []string{"Content-Encoding", encoding}
		return b
	}
	zeros := func() content { return repeat(make([]byte, 1024), 1<<20) }
	return []body{
		atPprof("pprof-gzip-empty-mappings", func() []byte { return gzipped(emptyMappings()) }),
		atPprof("pprof-plain-empty-mappings", func() []byte { return filling(empty(pprofMapping), 19<<20).plain() }),
		encoded("pprof-content-encoding-gzip", "gzip", func() []byte { return gzipped(emptyMappings()) }),
		encoded("pprof-content-encoding-zstd", "zstd", func() []byte { return zstandard(emptyMappings()) }),
		encoded("pprof-gzip-in-content-encoding-zstd", "zstd", func() []byte { return zstandard(literal(gzipped(emptyMappings()))) }),
		atPprof("pprof-four-layers", func() []byte {
			return gzipped(literal(zstandard(literal(gzipped(literal(zstandard(emptyMappings())))))))
		}),
		atPprof("pprof-gzip-bomb-1-gib", func() []byte { return gzipped(zeros()) }),
		atPprof("pprof-zstd-bomb-1-gib", func() []byte { return zstandard(zeros()) }),
		atPprof("pprof-gzip-members", func() []byte { return repeat(gzipped(nil), 500_000).plain() }),
		atPprof("pprof-gzip-members-of-64-kib", func() []byte {
			return join(literal(gzipped(join(head(), onlySample()))), repeat(gzipped(repeat([]byte{0x1a, 0}, 32<<10)), 1000)).plain()
		}),
		atPprof("pprof-zstd-empty-frames", func() []byte { return repeat(zstandard(literal([]byte{0})), 500_000).plain() }),
		atPprof("pprof-zstd-skippable-frames", func() []byte {
			skipped := []byte{0x50, 0x2a, 0x4d, 0x18, 0, 0, 0, 0}
			return join(literal(zstandard(smallProfile())), repeat(skipped, 2_000_000)).plain()
		}),
		atPprof("pprof-zstd-window-of-512-mib", func() []byte {
			return zstandard(emptyMappings(), zstd.WithWindowSize(zstd.MaxWindowSize))
		}),
		atPprof("pprof-zstd-claims-1-tib", claimedSize),
		encoded("pprof-zstd-claims-1-tib-content-encoding", "zstd", claimedSize),
	}
}

// claimedSize is a frame of zstd whose header claims a window of a gibibyte and a content of a tebibyte.
func claimedSize() []byte {
	frame := []byte{0x28, 0xb5, 0x2f, 0xfd, 0b11000000, 20 << 3}
	frame = binary.LittleEndian.AppendUint64(frame, 1<<40)
	// Blocks of one repeated byte, as long as a block may be.
	const blockBytes = 128 << 10
	block := blockBytes<<3 | 1<<1
	frame = append(frame, bytes.Repeat([]byte{byte(block), byte(block >> 8), byte(block >> 16), 0x1a}, 10_000)...)
	return append(frame, 1, 0, 0) // the last block
}
