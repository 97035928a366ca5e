// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package gen

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/google/pprof/profile"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"
	"pgregory.net/rapid"
)

// The words that the names of packages, types and functions are made of.
var (
	areas = []string{
		"cart", "catalog", "checkout", "payment", "shipping", "invoice", "ledger", "search", "index", "storage", "cache",
		"queue", "session", "auth", "billing", "metrics", "tracing", "gateway", "router", "codec", "schema", "planner",
		"replica", "snapshot", "journal", "compact", "limiter", "balancer", "resolver", "template", "render", "upload",
	}
	nouns = []string{
		"Client", "Server", "Store", "Reader", "Writer", "Batch", "Cursor", "Encoder", "Decoder", "Pool", "Worker", "Handler",
		"Session", "Order", "Item", "Price", "Token", "Block", "Segment", "Iterator", "Builder", "Plan", "Query", "Row",
		"Column", "Filter", "Cache", "Entry", "Bucket", "Tree", "Node", "Page", "Buffer", "Frame", "Stream", "Scheduler",
	}
	verbs = []string{
		"read", "write", "next", "flush", "merge", "split", "scan", "seek", "append", "commit", "apply", "encode", "decode",
		"validate", "resolve", "lookup", "insert", "update", "remove", "fetch", "load", "save", "open", "close", "grow",
		"compress", "hash", "compare", "sort", "reduce", "collect", "dispatch", "schedule", "retry", "acquire", "release",
	}
	objects = []string{
		"", "All", "Batch", "Next", "Header", "Body", "Key", "Value", "Record", "Page", "Block", "Row", "Locked", "Slow",
		"Fast", "Into", "From", "Range", "Index", "State", "Deadline", "Chunk", "Prefix", "Suffix", "Entry",
	}
	// modules stand in front of a package's path; the empty one is the standard library's.
	modules = []string{"example.com/shop", "example.com/shop/internal", "github.com/example/toolkit", "github.com/example/db/v2", ""}
)

func pick[T any](r *rand.Rand, from []T) T { return from[r.IntN(len(from))] }

// goPackage is a package of the imaginary program.
type goPackage struct {
	path, folder string
}

func goPackages(r *rand.Rand, n int) []goPackage {
	packages := make([]goPackage, 0, n)
	seen := map[string]bool{}
	for len(packages) < n {
		module, area := pick(r, modules), pick(r, areas)
		path := area
		if module != "" {
			path = module + "/" + area
		}
		if r.IntN(3) == 0 {
			path += "/" + pick(r, areas)
		}
		if seen[path] {
			continue
		}
		seen[path] = true
		folder := "/usr/local/go/src/" + path
		if module != "" {
			folder = "/go/pkg/mod/" + path
		}
		packages = append(packages, goPackage{path: path, folder: folder})
	}
	return packages
}

// goName returns the name of a function or method the way the Go linker spells it.
func goName(r *rand.Rand, p goPackage) string {
	name := pick(r, verbs) + pick(r, objects)
	switch r.IntN(10) {
	case 0, 1, 2:
		return p.path + "." + name
	case 3:
		return fmt.Sprintf("%s.%s.func%d", p.path, name, 1+r.IntN(4))
	case 4:
		return fmt.Sprintf("%s.(*%s[...]).%s", p.path, pick(r, nouns), name)
	case 5:
		return fmt.Sprintf("%s.%s.%s", p.path, pick(r, nouns), title(name))
	}
	return fmt.Sprintf("%s.(*%s).%s", p.path, pick(r, nouns), title(name))
}

// rubyName returns a method's name the way Ruby's profilers spell it.
func rubyName(r *rand.Rand) string {
	return fmt.Sprintf("%s::%s#%s_%s", title(pick(r, areas)), pick(r, nouns), pick(r, verbs), strings.ToLower(pick(r, nouns)))
}

func title(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// Labelled is a CPU profile with every form of label that clients write, one sample each: text, numbers with and
// without units, several values of one key, and the ways to name a trace and a span.
func Labelled() *profile.Profile {
	const (
		trace = "4bf92f3577b34da6a3ce929d0e0e4736"
		span  = "00f067aa0ba902b7"
	)
	p := newProgram(8, 20, 200)
	describe(p.profile, "cpu", "nanoseconds", 10_000_000, "samples/count", "cpu/nanoseconds")
	p.profile.DurationNanos = 10 * second
	p.profile.DefaultSampleType = "cpu"
	p.profile.Comments = []string{"made by otelpprof", "", "made by otelpprof"}
	p.profile.DropFrames, p.profile.KeepFrames = `runtime\..*`, `runtime\.main`
	p.profile.DocURL = "https://example.com/profiles"

	text := func(pairs ...string) *profile.Sample {
		s := &profile.Sample{Label: map[string][]string{}}
		for i := 0; i < len(pairs); i += 2 {
			s.Label[pairs[i]] = append(s.Label[pairs[i]], pairs[i+1])
		}
		return s
	}
	number := func(key, unit string, values ...int64) *profile.Sample {
		s := &profile.Sample{NumLabel: map[string][]int64{key: values}}
		if unit != "" {
			s.NumUnit = map[string][]string{key: make([]string, len(values))}
			for i := range values {
				s.NumUnit[key][i] = unit
			}
		}
		return s
	}
	both := text("key", "text")
	both.NumLabel = map[string][]int64{"key": {7}}
	unlike := number("size", "bytes", 1, 2)
	unlike.NumUnit["size"][1] = "kilobytes"
	spanNumber := text("trace id", trace)
	spanNumber.NumLabel = map[string][]int64{"span id": {67667974448284343}}

	for i, labels := range []*profile.Sample{
		text("thread.name", "worker-1", "route", "/checkout"),
		text("route", "/cart", "thread.name", "worker-1"),
		text("route", "/cart", "route", "/cart/items", "route", "/cart"),
		number("latency", "nanoseconds", 1500),
		number("bytes", "", 4096),
		number("bytes", "bytes", 4096, 8192, 0),
		number("empty", "bytes", 0),
		number("extreme", "", -1<<63, 1<<63-1),
		both,
		unlike,
		text("trace_id", trace, "span_id", span),
		text("trace_id", "0x4BF92F3577B34DA6A3CE929D0E0E4736", "span_id", "F067AA0BA902B7"),
		text("trace_id", "4bf92f35", "span_id", "2b7"),
		text("trace id", trace, "span id", "67667974448284343"),
		text("trace id", "11803532876627986230", "span id", "67667974448284343"),
		spanNumber,
		text("otel.traceid", trace),
		text("trace_id", trace),
		text("span_id", span),
		text("trace_id", "00000000000000000000000000000000", "span_id", "0000000000000000"),
		text("trace_id", "not hexadecimal", "span_id", span),
		text("trace_id", trace, "span_id", span, "thread.name", "wörker é"),
		nil,
	} {
		p.add(p.stack(4+p.random.IntN(8)), labels, int64(i+1), int64(i+1)*10_000_000)
	}
	return p.finish()
}

// drawDictionary fills every table with entry 0 and a few more, whose references exist.
func drawDictionary(t *rapid.T, dict pprofile.ProfilesDictionary) {
	strings := append([]string{""}, rapid.SliceOfN(labelKey(), 2, 12).Draw(t, "strings")...)
	strings = append(strings, rapid.SampledFrom([][]string{
		nil,
		{"pprof.profile.comment", "pprof.profile.drop_frames", "pprof.profile.keep_frames", "pprof.profile.doc_url", "profile.name"},
		{"pprof.location.is_folded", "pprof.mapping.has_functions", "process.executable.build_id.gnu", "profile.frame.type"},
	}).Draw(t, "keys of pprof")...)
	dict.StringTable().FromRaw(strings)
	text := func() int32 { return index(t, len(strings)) }

	dict.AttributeTable().AppendEmpty()
	for range rapid.IntRange(0, 8).Draw(t, "attributes") {
		kv := dict.AttributeTable().AppendEmpty()
		kv.SetKeyStrindex(text())
		kv.SetUnitStrindex(rapid.OneOf(rapid.Just(int32(0)), rapid.Int32Range(0, int32(len(strings)-1))).Draw(t, "unit"))
		drawValue(t, kv.Value(), 0)
	}
	dict.FunctionTable().AppendEmpty()
	for range rapid.IntRange(0, 5).Draw(t, "functions") {
		f := dict.FunctionTable().AppendEmpty()
		f.SetNameStrindex(text())
		f.SetSystemNameStrindex(text())
		f.SetFilenameStrindex(text())
		f.SetStartLine(rapid.Int64Range(0, 2).Draw(t, "start line"))
	}
	dict.MappingTable().AppendEmpty()
	for range rapid.IntRange(0, 3).Draw(t, "mappings") {
		m := dict.MappingTable().AppendEmpty()
		m.SetMemoryStart(address().Draw(t, "start"))
		m.SetMemoryLimit(address().Draw(t, "limit"))
		m.SetFileOffset(rapid.Uint64Range(0, 1).Draw(t, "offset"))
		m.SetFilenameStrindex(text())
		drawAttributes(t, dict, m.AttributeIndices())
	}
	drawLocations(t, dict)
	dict.StackTable().AppendEmpty()
	for range rapid.IntRange(0, 5).Draw(t, "stacks") {
		s := dict.StackTable().AppendEmpty()
		for range rapid.IntRange(0, 4).Draw(t, "depth") {
			s.LocationIndices().Append(index(t, dict.LocationTable().Len()))
		}
	}
	dict.LinkTable().AppendEmpty()
	for range rapid.IntRange(0, 3).Draw(t, "links") {
		l := dict.LinkTable().AppendEmpty()
		l.SetTraceID(pcommon.TraceID{15: rapid.ByteRange(0, 2).Draw(t, "trace")})
		l.SetSpanID(pcommon.SpanID{7: rapid.ByteRange(0, 2).Draw(t, "span")})
	}
}

func drawLocations(t *rapid.T, dict pprofile.ProfilesDictionary) {
	dict.LocationTable().AppendEmpty()
	for range rapid.IntRange(0, 6).Draw(t, "locations") {
		l := dict.LocationTable().AppendEmpty()
		l.SetAddress(address().Draw(t, "address"))
		l.SetMappingIndex(index(t, dict.MappingTable().Len()))
		drawAttributes(t, dict, l.AttributeIndices())
		for range rapid.IntRange(0, 3).Draw(t, "lines") {
			line := l.Lines().AppendEmpty()
			line.SetFunctionIndex(index(t, dict.FunctionTable().Len()))
			line.SetLine(rapid.Int64Range(0, 2).Draw(t, "line"))
			line.SetColumn(rapid.Int64Range(0, 1).Draw(t, "column"))
		}
	}
}
