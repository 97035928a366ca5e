// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/pdata/pprofile"
	"go.opentelemetry.io/collector/receiver/receivertest"

	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
	"github.com/otelpprof/otelpprof/receiver/pprofreceiver/internal/metadata"
)

type discard struct{}

func (discard) Capabilities() consumer.Capabilities { return consumer.Capabilities{} }

func (discard) ConsumeProfiles(context.Context, pprofile.Profiles) error { return nil }

// BenchmarkHandler measures a request without sockets, and the translation alone (op=decode). Bytes are those on the
// wire.
//
// go test -run='^$' -bench=Handler -benchtime=2s -count=6 -cpu=1 ./receiver/pprofreceiver.
func BenchmarkHandler(b *testing.B) {
	r, err := newReceiver(receivertest.NewNopSettings(metadata.Type), createDefaultConfig().(*Config), discard{})
	require.NoError(b, err)
	handler := r.sections[0].(*server).handler()
	for _, file := range profiletest.OwnPprofs(b) {
		body := file.Bytes(b)
		b.Run("profile="+file.Name+"/op=decode", func(b *testing.B) {
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				_, _, err := r.intake.formats.Pprof(false, "")(body, r.intake.newSource())
				require.NoError(b, err)
			}
		})
		b.Run("profile="+file.Name+"/op=request", func(b *testing.B) {
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				request := httptest.NewRequest(http.MethodPost, "/v1/pprof?service.name=bench", bytes.NewReader(body))
				response := httptest.NewRecorder()
				handler.ServeHTTP(response, request)
				require.Equal(b, http.StatusNoContent, response.Code)
			}
		})
	}
}
