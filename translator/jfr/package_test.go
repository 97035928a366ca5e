// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package jfr

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pprofile"
	"go.uber.org/goleak"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/otelpprof/otelpprof/internal/testkit/jfrtest"
	"github.com/otelpprof/otelpprof/internal/testkit/memorytest"
	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// mustDecode also checks that the message keeps the rules of OTLP.
func mustDecode(tb testing.TB, recording []byte, src Source) (pprofile.Profiles, Stats) {
	tb.Helper()
	pd, stats, err := NewDecoder(Options{}).Decode(recording, src)
	require.NoError(tb, err)
	require.NoError(tb, profiletest.CheckOptions{Deduplicated: true}.Check(pd))
	return pd, stats
}

// profilesOf returns the profiles of a message by their name and type.
func profilesOf(tb testing.TB, pd pprofile.Profiles) map[string]pprofile.Profile {
	tb.Helper()
	all := map[string]pprofile.Profile{}
	for _, profile := range pd.ResourceProfiles().At(0).ScopeProfiles().At(0).Profiles().All() {
		name := attributesOf(pd, profile.AttributeIndices().AsRaw())
		key := strings.TrimPrefix(name, "profile.name=") + " " + typeOf(pd, profile.SampleType())
		require.NotContains(tb, all, key)
		all[key] = profile
	}
	return all
}

func typeOf(pd pprofile.Profiles, v pprofile.ValueType) string {
	strs := pd.Dictionary().StringTable()
	return strs.At(int(v.TypeStrindex())) + "/" + strs.At(int(v.UnitStrindex()))
}

func attributesOf(pd pprofile.Profiles, indices []int32) string {
	var all []string
	for _, i := range indices {
		a := pd.Dictionary().AttributeTable().At(int(i))
		all = append(all, pd.Dictionary().StringTable().At(int(a.KeyStrindex()))+"="+a.Value().AsString())
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

// stackOf returns the frames of a stack with their line and type, the leaf first.
func stackOf(pd pprofile.Profiles, index int32) string {
	dict := pd.Dictionary()
	var frames []string
	for _, i := range dict.StackTable().At(int(index)).LocationIndices().All() {
		location := dict.LocationTable().At(int(i))
		line := location.Lines().At(0)
		name := dict.StringTable().At(int(dict.FunctionTable().At(int(line.FunctionIndex())).NameStrindex()))
		kind := strings.TrimPrefix(attributesOf(pd, location.AttributeIndices().AsRaw()), "profile.frame.type=")
		frames = append(frames, fmt.Sprintf("%s:%d(%s)", name, line.Line(), kind))
	}
	return strings.Join(frames, ";")
}

// samplesOf writes each sample as a line.
func samplesOf(pd pprofile.Profiles, profile pprofile.Profile, start uint64) []string {
	var lines []string
	for _, sample := range profile.Samples().All() {
		text := stackOf(pd, sample.StackIndex()) + " | " + attributesOf(pd, sample.AttributeIndices().AsRaw()) + " |"
		if link := pd.Dictionary().LinkTable().At(int(sample.LinkIndex())); !link.TraceID().IsEmpty() {
			text += fmt.Sprintf(" %s/%s", link.TraceID(), link.SpanID())
		}
		values := []string{text, "|"}
		for i, value := range sample.Values().All() {
			values = append(values, fmt.Sprintf("%d@%d", value, (sample.TimestampsUnixNano().At(i)-start)/1_000_000))
		}
		lines = append(lines, strings.Join(values, " "))
	}
	return lines
}

// TestMemory checks that all memory is reserved, for recordings of which one part is large.
func TestMemory(t *testing.T) {
	for name, change := range map[string]func(r *jfrtest.Recording){
		"stacks": func(r *jfrtest.Recording) {
			for i := range uint64(20_000) {
				r.ExecutionSample(1000+i, 1, r.Stack(false, jfrtest.Frame{Method: 1, Line: i, Type: 1}, jfrtest.Frame{Method: 2, Line: i, Type: 0}), 1, jfrtest.Context{})
			}
		},
		"deep stacks": func(r *jfrtest.Recording) {
			for i := range uint64(200) {
				frames := slices.Repeat([]jfrtest.Frame{{Method: 1, Line: i}}, 2000)
				r.ExecutionSample(1000, 1, r.Stack(false, frames...), 1, jfrtest.Context{})
			}
		},
		"unused stacks": func(r *jfrtest.Recording) {
			for i := range uint64(50_000) {
				r.Stack(false, jfrtest.Frame{Method: i})
			}
		},
		"methods": func(r *jfrtest.Recording) {
			for i := range uint64(20_000) {
				name := string(numbers(i+1<<20)) + "name"
				r.ExecutionSample(1000, 1, r.Stack(false, jfrtest.Frame{Method: r.Method(name, name), Line: i}), 1, jfrtest.Context{})
			}
		},
		"threads": func(r *jfrtest.Recording) {
			for i := range uint64(20_000) {
				r.ExecutionSample(1000, r.Thread("t", i+1, i+1), 1, 1, jfrtest.Context{})
			}
		},
		"spans": func(r *jfrtest.Recording) {
			for i := range uint64(20_000) {
				r.ExecutionSample(1000, 1, 1, 1, jfrtest.Context{Span: i + 1, TraceLow: i + 1})
			}
		},
		"events": func(r *jfrtest.Recording) {
			for i := range uint64(100_000) {
				r.ExecutionSample(1000+i, 1, 1, 1, jfrtest.Context{})
				r.Event(jfrtest.ClassMalloc, 1000+i, 1, 1, 5, 6)
			}
		},
		"settings": func(r *jfrtest.Recording) {
			for i := range uint64(50_000) {
				r.SettingAt(1000+i, jfrtest.ClassExecutionSample, "interval", []string{"1", "2"}[i%2])
			}
		},
		"latin1": func(r *jfrtest.Recording) {
			for i := range uint64(20_000) {
				text := append([]byte(strings.Repeat("\xe4", 100)), numbers(i+1<<20)...)
				r.Constant(jfrtest.ClassSymbol, append(jfrtest.AppendLong([]byte{5}, uint64(len(text))), text...))
			}
		},
		"UTF-16": func(r *jfrtest.Recording) {
			for i := range uint64(20_000) {
				text := slices.Repeat([]byte{'x'}, 100)
				r.Constant(jfrtest.ClassSymbol, append(jfrtest.AppendLong([]byte{4}, uint64(len(text))+1), append(text, numbers(i+1<<10)...)...))
			}
		},
		"classes": func(r *jfrtest.Recording) {
			for i := range 5000 {
				r.Classes = append(r.Classes, jfrtest.Class{ID: 1000 + i, Name: "n" + string(rune('a'+i)), Fields: classOf(r, jfrtest.ClassMalloc).Fields})
			}
		},
		"fields": func(r *jfrtest.Recording) {
			fields := slices.Repeat([]jfrtest.Field{{Name: "field", Class: jfrtest.ClassLong}}, 250)
			for i := range 400 {
				r.Classes = append(r.Classes, jfrtest.Class{ID: 1000 + i, Name: "n" + string(rune('a'+i)), Fields: fields})
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := jfrtest.Example()
			change(r)
			memorytest.Check(t, translating(r.Bytes(), nil))
		})
	}
	t.Run("chunks", func(t *testing.T) {
		memorytest.Check(t, translating(bytes.Repeat(jfrtest.Example().Bytes(), 500), nil))
	})
	t.Run("original payload", func(t *testing.T) {
		options := Options{IncludeOriginalPayload: true}
		memorytest.Check(t, translatingWith(options, bytes.Repeat(jfrtest.Example().Bytes(), 500), nil))
	})
	t.Run("gzip", func(t *testing.T) {
		memorytest.Check(t, translating(profiletest.Gzip(t, bytes.Repeat(jfrtest.Example().Bytes(), 500)), nil))
	})
}

// TestMemoryOfLongTexts: the same for a recording with a long text, wherever it is.
func TestMemoryOfLongTexts(t *testing.T) {
	const places = 14
	for _, part := range []string{"a", "0", "\xff", "\xffa"} {
		for place := range places {
			// text returns the long text at this place, and a short one at all others.
			text := func(at int, short string) string {
				if at == place {
					return strings.Repeat(part, (512<<10)/len(part))
				}
				return short
			}
			r := jfrtest.New()
			thread, state := r.Thread(text(0, "main"), 1, 2), r.State(text(1, "STATE_RUNNABLE"))
			stack := r.Stack(false, jfrtest.Frame{Method: r.Method(text(2, "com/example/Shop"), text(3, "checkout")), Line: 1, Type: jfrtest.JITCompiled})
			r.Setting(jfrtest.ClassExecutionSample, text(4, "event"), text(5, "cpu"))
			r.Setting(jfrtest.ClassExecutionSample, "interval", text(6, "10000000"))
			r.ExecutionSample(r.Header.StartTicks, thread, stack, state, jfrtest.Context{Span: 1, Name: 3, Context: 7})
			scope := jfrtest.AppendLong(jfrtest.AppendLong(jfrtest.AppendLong(jfrtest.AppendLong(nil, r.Header.StartTicks), 1), thread), stack)
			r.RawEvent(jfrtest.ClassScope, jfrtest.AppendText(jfrtest.AppendText(scope, text(7, "0af7651916cd43dd8448eb211c80319c")), text(8, "b7ad6b7169203331")))
			classOf(r, jfrtest.ClassExecutionSample).Name = text(9, "jdk.ExecutionSample")
			classOf(r, jfrtest.ClassExecutionSample).Fields[1].Name = text(10, "sampledThread")
			labels := jfrtest.Labels()
			for at, short := range []string{"endpoint", "/pay", "GET /cart"} {
				labels = replaceText(labels, short, text(11+at, short))
			}
			memorytest.CheckCovered(t, translating(r.Bytes(), labels))
			if t.Failed() {
				t.Fatalf("%q of 512 KiB at place %d", part, place)
			}
		}
	}
}

// replaceText replaces a text in a labels snapshot.
func replaceText(labels []byte, old, text string) []byte {
	entry := func(text string) []byte {
		return protowire.AppendString(protowire.AppendTag(nil, 2, protowire.BytesType), text)
	}
	at := bytes.Index(labels, entry(old))
	begin := at - 2 // the id of the string
	content := append(bytes.Clone(labels[begin:at]), entry(text)...)
	head := protowire.AppendBytes(protowire.AppendTag(bytes.Clone(labels[:begin-2]), 2, protowire.BytesType), content)
	return append(head, labels[at+len(entry(old)):]...)
}

// translating returns the translation of a recording.
func translating(recording, labels []byte) memorytest.Work {
	return translatingWith(Options{}, recording, labels)
}

func translatingWith(options Options, recording, labels []byte) memorytest.Work {
	return func(reserve func(int64) error) error {
		_, _, err := NewDecoder(options).Decode(recording, Source{Source: pprof.Source{Reserve: reserve}, Labels: labels})
		return err
	}
}

// FuzzDecode checks that no recording, nor any labels, make the translation panic, allocate more than it reserves, or return a
// message that breaks the rules of OTLP.
func FuzzDecode(f *testing.F) {
	f.Add(jfrtest.Example().Bytes(), jfrtest.Labels())
	f.Add(append(jfrtest.New().Bytes(), jfrtest.Example().Bytes()...), []byte{})
	f.Add(changed(func(r *jfrtest.Recording) { classOf(r, jfrtest.ClassStackTrace).Fields[1].Name = "elements" }), []byte{10, 0})
	f.Add(changed(func(r *jfrtest.Recording) {
		c := classOf(r, jfrtest.ClassExecutionSample)
		c.Fields = append(c.Fields, jfrtest.Field{Name: "more", Class: jfrtest.ClassStackFrame, Array: true})
		r.RawEvent(jfrtest.ClassExecutionSample, numbers(1, 1, 1, 1, 0, 0, 0, 0, 0, 1, 1, 1, 2, 3, 4))
	}), jfrtest.Labels())
	f.Add(chunkOf(numbers(0, 0, 0, 0, 0, most), numbers(0, 1)), []byte{})
	decoder := NewDecoder(Options{})
	f.Fuzz(func(t *testing.T, recording, labels []byte) {
		memorytest.CheckCovered(t, translating(recording, labels))
		pd, stats, err := decoder.Decode(recording, Source{Labels: labels})
		if err != nil {
			return
		}
		if err := (profiletest.CheckOptions{Deduplicated: true}).Check(pd); err != nil {
			t.Fatal(err)
		}
		if got := pd.SampleCount(); got != stats.OTLPSamples {
			t.Fatalf("%d samples, the stats say %d", got, stats.OTLPSamples)
		}
	})
}
