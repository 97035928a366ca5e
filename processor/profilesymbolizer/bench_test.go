// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profilesymbolizer

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/pdata/pprofile"
	"go.opentelemetry.io/collector/processor/processortest"

	"github.com/otelpprof/otelpprof/internal/dedup"
	"github.com/otelpprof/otelpprof/internal/testkit/elftest"
	"github.com/otelpprof/otelpprof/internal/testkit/must"
	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
	"github.com/otelpprof/otelpprof/processor/profilesymbolizer/internal/metadata"
	"github.com/otelpprof/otelpprof/processor/profilesymbolizer/internal/source"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

// writeBinaries writes a file for each binary of a message with a GNU build id, with a function at each address.
func writeBinaries(tb testing.TB, pd pprofile.Profiles, directory string) {
	tb.Helper()
	m := message{dictionary: pd.Dictionary()}
	m.read(false)
	for _, mapping := range m.mappings {
		if len(mapping.binaries) == 0 || mapping.binaries[0].Kind != source.GNU {
			continue
		}
		var list []uint64
		for _, u := range mapping.locations {
			list = append(list, m.dictionary.LocationTable().At(int(u.location)).Address())
		}
		id := mapping.binaries[0].ID
		name := filepath.Join(directory, ".build-id", id[:2], id[2:]+".debug")
		require.NoError(tb, os.MkdirAll(filepath.Dir(name), 0o700))
		require.NoError(tb, os.WriteFile(name, elftest.WithAddresses(id, list), 0o600))
	}
}

// BenchmarkMessage measures the way of a capture of the eBPF profiler from OTLP to a compressed pprof, without and with the processor: it is
// read, deduplicated, named, encoded and compressed. percent is the time of the names, of the time of all else.
//
//	go test -run '^$' -bench Message -benchmem -cpu 1 . with the corpus of profiles
func BenchmarkMessage(b *testing.B) {
	body := must.Get(os.ReadFile(filepath.Join(profiletest.Corpus(b), "otlp", "sigprof-profile-renumbered-0.pb")))(b)
	reader := pprofile.ProtoUnmarshaler{}
	pd := must.Get(reader.UnmarshalProfiles(body))(b)
	cfg := createDefaultConfig().(*Config)
	cfg.Directories = []string{b.TempDir()}
	cfg.MaxWait = time.Minute
	writeBinaries(b, pd, cfg.Directories[0])
	s := must.Get(newSymbolizer(processortest.NewNopSettings(metadata.Type), cfg, consumertest.NewNop()))(b)
	require.NoError(b, s.Start(b.Context(), componenttest.NewNopHost()))
	defer func() { require.NoError(b, s.Shutdown(b.Context())) }()
	require.NoError(b, s.ConsumeProfiles(b.Context(), pd))

	b.ReportAllocs()
	var names time.Duration
	for b.Loop() {
		pd := must.Get(reader.UnmarshalProfiles(body))(b)
		pd, _, err := dedup.New(dedup.Options{}).Deduplicate(pd)
		require.NoError(b, err)
		start := time.Now()
		s.symbolize(b.Context(), pd, nil)
		names += time.Since(start)
		for payload, err := range pprof.NewEncoder(pprof.EncodeOptions{}).All(pd) {
			require.NoError(b, err)
			_, err = pprof.AppendGzip(nil, payload.Pprof, 6)
			require.NoError(b, err)
		}
	}
	b.ReportMetric(100*float64(names)/float64(b.Elapsed()-names), "percent")
	b.ReportMetric(float64(names)/float64(b.N), "ns-names/op")
}
