// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofexporter

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/exporter/exportertest"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/exporter/internal/deliverytest"
	"github.com/otelpprof/otelpprof/exporter/pprofexporter/internal/metadata"
)

// BenchmarkConsume measures one request with one profile, until its file is synced to the disk. The bytes are those of the file.
// Compression and, on a real disk, the two syncs take most of the time. Set TMPDIR to a directory on the disk to measure.
//
//	go test ./exporter/pprofexporter -run '^$' -bench Consume -benchmem -count 6 -cpu 1,2
func BenchmarkConsume(b *testing.B) {
	for _, name := range []string{"cpu", "goroutine", "heap"} {
		b.Run("profile="+name, func(b *testing.B) {
			payload := deliverytest.OwnProfile(b, name+".pb.gz")
			cfg := configFor(b.TempDir())
			telemetry, err := newTelemetry(exportertest.NewNopSettings(metadata.Type))
			require.NoError(b, err)
			d, err := newFileDestination(exportertest.NewNopSettings(metadata.Type), cfg, telemetry)
			require.NoError(b, err)
			require.NoError(b, d.start(b.Context(), componenttest.NewNopHost()))
			defer d.shutdown(b.Context())
			template := deliverytest.Decode(b, payload, map[string]any{"service.name": "checkout"})
			b.SetBytes(int64(len(payload)))
			b.ReportAllocs()
			next := pcommon.Timestamp(0)
			for b.Loop() {
				next++
				stamp(template, next)
				require.NoError(b, d.consume(b.Context(), template))
			}
		})
	}
}

// stamp sets another time in all profiles, so that each gets another file.
func stamp(pd pprofile.Profiles, time pcommon.Timestamp) {
	for _, p := range pd.ResourceProfiles().At(0).ScopeProfiles().At(0).Profiles().All() {
		p.SetTime(time)
	}
}
