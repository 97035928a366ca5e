// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package clients

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/grafana/jfr-parser/parser"
	"github.com/grafana/jfr-parser/parser/types"
	library "github.com/grafana/jfr-parser/pprof"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/otelpprof/otelpprof/internal/testkit/jfrtest"
	"github.com/otelpprof/otelpprof/internal/testkit/must"
	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
	"github.com/otelpprof/otelpprof/translator/jfr"
)

// TestJFR compares the number of events of each stack with what the library finds, in the library's own recordings.
func TestJFR(t *testing.T) {
	directory, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "github.com/grafana/jfr-parser").Output()
	require.NoError(t, err)
	paths := must.Get(filepath.Glob(filepath.Join(strings.TrimSpace(string(directory)), "parser", "testdata", "*.jfr.gz")))(t)
	require.NotEmpty(t, paths)
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			compressed := must.Get(os.ReadFile(path))(t)
			recording := profiletest.Inflate(t, compressed)
			ours := ourStacks(t, recording)
			for name, want := range libraryStacks(t, recording) {
				if _, both := ours["wall"]; name == "cpu" && both {
					continue // The library leaves it to its caller which samples are of the CPU.
				}
				assert.True(t, assert.ObjectsAreEqual(want, ours[name]), "%s: %d and %d stacks", name, len(want), len(ours[name]))
			}
		})
	}
}

// ourStacks returns the number of events of each stack by the type of the samples, and by the name of the profile for contentions.
func ourStacks(t *testing.T, recording []byte) map[string]map[string]int {
	t.Helper()
	pd, _, err := jfr.NewDecoder(jfr.Options{KeepGeneratedNames: true}).Decode(recording, jfr.Source{})
	require.NoError(t, err)
	all, dict := map[string]map[string]int{}, pd.Dictionary()
	for _, p := range pd.ResourceProfiles().At(0).ScopeProfiles().At(0).Profiles().All() {
		stacks := map[string]int{}
		key := dict.StringTable().At(int(p.SampleType().TypeStrindex()))
		if key == "contentions" {
			key = dict.AttributeTable().At(int(p.AttributeIndices().At(0))).Value().Str()
		}
		all[key] = stacks
		for _, sample := range p.Samples().All() {
			var stack strings.Builder
			for _, i := range dict.StackTable().At(int(sample.StackIndex())).LocationIndices().All() {
				line := dict.LocationTable().At(int(i)).Lines().At(0)
				name := dict.StringTable().At(int(dict.FunctionTable().At(int(line.FunctionIndex())).NameStrindex()))
				fmt.Fprintf(&stack, "%s:%d\n", name, line.Line())
			}
			stacks[stack.String()] += sample.Values().Len()
		}
	}
	return all
}

func libraryStacks(t *testing.T, recording []byte) map[string]map[string]int {
	t.Helper()
	p := parser.NewParser(recording, parser.Options{})
	all := map[string]map[string]int{}
	add := func(key string, ref types.StackTraceRef) {
		if all[key] == nil {
			all[key] = map[string]int{}
		}
		var text strings.Builder
		if stack := p.GetStacktrace(ref); stack != nil {
			for _, frame := range stack.Frames {
				method := p.GetMethod(frame.Method)
				class := p.GetSymbolString(p.GetClass(method.Type).Name)
				name := strings.Trim(class+"."+p.GetSymbolString(method.Name), ".")
				fmt.Fprintf(&text, "%s:%d\n", name, max(int32(frame.LineNumber), 0))
			}
		}
		all[key][text.String()]++
	}
	for {
		typ, err := p.ParseEvent()
		switch {
		case errors.Is(err, io.EOF):
			return all
		case err != nil:
			require.NoError(t, err)
		case typ == p.TypeMap.T_EXECUTION_SAMPLE && p.GetThreadState(p.ExecutionSample.State).Name != "STATE_SLEEPING":
			add("cpu", p.ExecutionSample.StackTrace)
		case typ == p.TypeMap.T_ALLOC_IN_NEW_TLAB:
			add("alloc_in_new_tlab_bytes", p.ObjectAllocationInNewTLAB.StackTrace)
		case typ == p.TypeMap.T_ALLOC_OUTSIDE_TLAB:
			add("alloc_outside_tlab_bytes", p.ObjectAllocationOutsideTLAB.StackTrace)
		case typ == p.TypeMap.T_ALLOC_SAMPLE:
			add("alloc_sample_bytes", p.ObjectAllocationSample.StackTrace)
		case typ == p.TypeMap.T_LIVE_OBJECT:
			add("live", p.LiveObject.StackTrace)
		case typ == p.TypeMap.T_MALLOC:
			add("malloc_bytes", p.Malloc.StackTrace)
		case typ == p.TypeMap.T_MONITOR_ENTER:
			add("mutex", p.JavaMonitorEnter.StackTrace)
		case typ == p.TypeMap.T_THREAD_PARK:
			add("block", p.ThreadPark.StackTrace)
		}
	}
}

// BenchmarkJFR compares the translation with that of the library into its pprofs, which have no times, and with the library's
// parser alone, which drops the events:
//
//	OTELPPROF_CORPUS=… go -C test/clients test -bench JFR -run '^$' -count 6 .
func BenchmarkJFR(b *testing.B) {
	for _, r := range append(denseRecordings(), corpusRecordings(b)...) {
		run := func(op string, f func(*testing.B)) {
			b.Run("profile="+r.name+"/op="+op, func(b *testing.B) {
				b.SetBytes(int64(len(r.plain)))
				b.ReportAllocs()
				f(b)
			})
		}
		run("otelpprof", func(b *testing.B) {
			decoder := jfr.NewDecoder(jfr.Options{})
			events := 0
			for b.Loop() {
				_, stats, err := decoder.Decode(r.plain, jfr.Source{Labels: r.labels})
				require.NoError(b, err)
				events += stats.Samples
			}
			b.ReportMetric(float64(events)/b.Elapsed().Seconds(), "samples/s")
		})
		run("library", func(b *testing.B) {
			var labels *library.LabelsSnapshot
			if r.labels != nil {
				labels = &library.LabelsSnapshot{}
				plain := profiletest.Inflate(b, r.labels)
				require.NoError(b, proto.Unmarshal(plain, labels))
			}
			for b.Loop() {
				_, err := library.ParseJFR(r.plain, &library.ParseInput{}, labels)
				require.NoError(b, err)
			}
		})
		run("parser", func(b *testing.B) {
			for b.Loop() {
				p := parser.NewParser(r.plain, parser.Options{})
				var err error
				for err == nil {
					_, err = p.ParseEvent()
				}
				require.ErrorIs(b, err, io.EOF)
			}
		})
	}
}

// recording is a recording without compression, and the labels beside it.
type recording struct {
	name          string
	plain, labels []byte
}

// denseRecordings have hardly anything but events: of one stack, and of a thousand.
func denseRecordings() []recording {
	dense := func(stacks uint64) []byte {
		r := jfrtest.Example()
		for i := range stacks {
			r.Stack(false, jfrtest.Frame{Method: 1, Line: 100 + i}, jfrtest.Frame{Method: 2, Line: 100 + i})
		}
		for i := range uint64(100_000) {
			r.ExecutionSample(1000+1000*i, 1, 1+i%stacks, 1, jfrtest.Context{})
		}
		return r.Bytes()
	}
	return []recording{{name: "dense-1-stack", plain: dense(1)}, {name: "dense-1000-stacks", plain: dense(1000)}}
}

// corpusRecordings are the recordings of real profilers.
func corpusRecordings(b *testing.B) (recordings []recording) {
	b.Helper()
	paths := must.Get(filepath.Glob(filepath.Join(profiletest.Corpus(b), "jfr", "*.jfr.gz")))(b)
	require.NotEmpty(b, paths)
	for _, path := range paths {
		compressed := must.Get(os.ReadFile(path))(b)
		plain := profiletest.Inflate(b, compressed)
		trunk := strings.TrimSuffix(path, ".jfr.gz")
		labels, err := os.ReadFile(trunk + ".labels.pb.gz")
		if !errors.Is(err, os.ErrNotExist) {
			require.NoError(b, err)
		}
		recordings = append(recordings, recording{filepath.Base(trunk), plain, labels})
	}
	return recordings
}
