// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package clients

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/grafana/jfr-parser/parser"
	library "github.com/grafana/jfr-parser/pprof"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/otelpprof/otelpprof/internal/testkit/jfrtest"
	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
	"github.com/otelpprof/otelpprof/internal/wire/inflate"
	"github.com/otelpprof/otelpprof/translator/jfr"
)

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
				plain, err := inflate.Append(nil, r.labels, 1<<30)
				require.NoError(b, err)
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
	paths, err := filepath.Glob(filepath.Join(profiletest.Corpus(b), "jfr", "*.jfr.gz"))
	require.NoError(b, err)
	require.NotEmpty(b, paths)
	for _, path := range paths {
		compressed, err := os.ReadFile(path)
		require.NoError(b, err)
		plain, err := inflate.Append(nil, compressed, 1<<30)
		require.NoError(b, err)
		trunk := strings.TrimSuffix(path, ".jfr.gz")
		labels, err := os.ReadFile(trunk + ".labels.pb.gz")
		if !errors.Is(err, os.ErrNotExist) {
			require.NoError(b, err)
		}
		recordings = append(recordings, recording{filepath.Base(trunk), plain, labels})
	}
	return recordings
}
