// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprof_test

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/pprof/profile"
	"github.com/klauspost/compress/gzip"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/testkit/must"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

// benchFile is a profile of the benchmarks, as it is sent.
type benchFile struct {
	name    string
	payload []byte
}

// benchSet returns two profiles of this repository and, if there is a corpus, the deep and the large shape of OTEP 0239
// and three real profiles. All are in gzip: profiles that are plain in the corpus are compressed first.
func benchSet(b *testing.B) []benchFile {
	set := []benchFile{
		readBench(b, "go-cpu-100KB", "../../testdata/pprof/cpu.pb.gz"),
		readBench(b, "go-heap-600KB", "../../testdata/pprof/heap.pb.gz"),
	}
	corpus := os.Getenv("OTELPPROF_CORPUS")
	if corpus == "" {
		b.Log("OTELPPROF_CORPUS is not set: only the project's own profiles are measured")
		return set
	}
	for _, file := range [][2]string{
		{"ruby", "pprof/synth/synth-ruby.pb"},
		{"large", "pprof/synth/synth-large.pb"},
		{"apm-cpu-labels", "pprof/real/apm-mid-22labelsets.pgo"},
		{"compiler-pgo", "pprof/real/go-compile-default.pgo"},
		{"dd-big-heap", "pprof/real/ddgo-big-heap.pprof"},
	} {
		set = append(set, readBench(b, file[0], filepath.Join(corpus, file[1])))
	}
	return set
}

func readBench(b *testing.B, name, path string) benchFile {
	payload, err := os.ReadFile(path)
	require.NoError(b, err)
	if !bytes.HasPrefix(payload, []byte{0x1f, 0x8b}) {
		payload, err = pprof.AppendGzip(nil, payload, 6)
		require.NoError(b, err)
	}
	return benchFile{name, payload}
}

func inflated(b *testing.B, payload []byte) []byte {
	reader := must.Get(gzip.NewReader(bytes.NewReader(payload)))(b)
	raw := must.Get(io.ReadAll(reader))(b)
	return raw
}

// BenchmarkDecode measures payload → pprofile.Profiles. op=limit is a lower bound for anything that fills pdata:
// klauspost's gunzip and pdata's unmarshalling of the same OTLP message. op=parsedata is google/pprof's parser without a
// translation to OTLP.
//
// go test ./translator/pprof -run '^$' -bench '^BenchmarkDecode$' -benchmem -count 6 -cpu 1.
func BenchmarkDecode(b *testing.B) {
	for _, file := range benchSet(b) {
		raw := inflated(b, file.payload)
		decoder := pprof.NewDecoder(pprof.DecodeOptions{})
		pd, _, err := decoder.Decode(file.payload, pprof.Source{})
		require.NoError(b, err)
		message := must.Get((&pprofile.ProtoMarshaler{}).MarshalProfiles(pd))(b)

		measure := func(op string, do func(b *testing.B)) {
			b.Run("profile="+file.name+"/op="+op, func(b *testing.B) {
				b.SetBytes(int64(len(raw)))
				b.ReportAllocs()
				do(b) // fills the pools of all operations
				for b.Loop() {
					do(b)
				}
			})
		}
		measure("otelpprof", func(b *testing.B) {
			_, _, err := decoder.Decode(file.payload, pprof.Source{})
			require.NoError(b, err)
		})
		reader, buffer := new(gzip.Reader), make([]byte, len(raw))
		measure("limit", func(b *testing.B) {
			require.NoError(b, reader.Reset(bytes.NewReader(file.payload)))
			_, err := io.ReadFull(reader, buffer)
			require.NoError(b, err)
			_, err = (&pprofile.ProtoUnmarshaler{}).UnmarshalProfiles(message)
			require.NoError(b, err)
		})
		measure("parsedata", func(b *testing.B) {
			_, err := profile.ParseData(file.payload)
			require.NoError(b, err)
		})
	}
}

// BenchmarkDecodeScale measures the cost per byte of one profile at several sizes: its samples, functions and locations
// occur factor times in the payload, each time with other names.
//
// go test ./translator/pprof -run '^$' -bench '^BenchmarkDecodeScale$' -benchmem -count 6 -cpu 1.
func BenchmarkDecodeScale(b *testing.B) {
	payload := must.Get(os.ReadFile("../../testdata/pprof/cpu.pb.gz"))(b)
	one := must.Get(profile.ParseData(payload))(b)
	limits := pprof.DefaultLimits()
	limits.Samples *= 10
	decoder := pprof.NewDecoder(pprof.DecodeOptions{Limits: limits})
	for _, factor := range []int{1, 10, 100} {
		raw, payload := multiplied(b, one, factor)
		b.Run(fmt.Sprintf("factor=%d", factor), func(b *testing.B) {
			b.SetBytes(int64(raw))
			b.ReportAllocs()
			do := func() {
				_, _, err := decoder.Decode(payload, pprof.Source{})
				require.NoError(b, err)
			}
			do()
			for b.Loop() {
				do()
			}
		})
	}
}

// multiplied returns the size of p, multiplied by factor, and its bytes in gzip.
func multiplied(b *testing.B, p *profile.Profile, factor int) (raw int, payload []byte) {
	var plain bytes.Buffer
	require.NoError(b, multiply(b, p, factor).WriteUncompressed(&plain))
	payload = must.Get(pprof.AppendGzip(nil, plain.Bytes(), 6))(b)
	return plain.Len(), payload
}

// multiply returns a profile with factor copies of the content of p. All names differ.
func multiply(b *testing.B, p *profile.Profile, factor int) *profile.Profile {
	parts := make([]*profile.Profile, factor)
	for i := range parts {
		part := p.Copy()
		for _, f := range part.Function {
			f.Name = fmt.Sprintf("%s.%d", f.Name, i)
			f.SystemName = f.Name
		}
		for _, l := range part.Location {
			l.Address += uint64(i) << 40
			l.Mapping = nil
		}
		part.Mapping = nil
		parts[i] = part
	}
	merged := must.Get(profile.Merge(parts))(b)
	return merged
}

// BenchmarkEncode measures pprofile.Profiles → pprof, with and without gzip, and google/pprof's Profile.Write and
// WriteUncompressed of the same profile.
//
// go test ./translator/pprof -run '^$' -bench '^BenchmarkEncode$' -benchmem -count 6 -cpu 1.
func BenchmarkEncode(b *testing.B) {
	encoder := pprof.NewEncoder(pprof.EncodeOptions{})
	for _, file := range benchSet(b) {
		parsed := must.Get(profile.ParseData(file.payload))(b)
		pd, stats, err := pprof.NewDecoder(pprof.DecodeOptions{}).Decode(file.payload, pprof.Source{})
		require.NoError(b, err)

		measure := func(op string, do func(b *testing.B)) {
			b.Run("profile="+file.name+"/op="+op, func(b *testing.B) {
				b.SetBytes(int64(stats.InflatedBytes))
				b.ReportAllocs()
				do(b) // fills the pools of all operations
				for b.Loop() {
					do(b)
				}
			})
		}
		measure("otelpprof", func(b *testing.B) {
			for _, err := range encoder.All(pd) {
				require.NoError(b, err)
			}
		})
		var compressed []byte
		measure("otelpprof-gzip", func(b *testing.B) {
			for payload, err := range encoder.All(pd) {
				require.NoError(b, err)
				compressed, err = pprof.AppendGzip(compressed[:0], payload.Pprof, 6)
				require.NoError(b, err)
			}
		})
		measure("google", func(b *testing.B) {
			require.NoError(b, parsed.WriteUncompressed(io.Discard))
		})
		measure("google-gzip", func(b *testing.B) {
			require.NoError(b, parsed.Write(io.Discard))
		})
	}
}
