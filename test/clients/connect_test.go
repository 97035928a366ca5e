// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package clients

import (
	"bytes"
	"net/http"
	"runtime/pprof"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/google/pprof/profile"
	pushv1 "github.com/grafana/pyroscope/api/gen/proto/go/push/v1"
	"github.com/grafana/pyroscope/api/gen/proto/go/push/v1/pushv1connect"
	typesv1 "github.com/grafana/pyroscope/api/gen/proto/go/types/v1"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// cpuProfile measures until the hot function was seen.
func cpuProfile(t *testing.T) []byte {
	t.Helper()
	var measured bytes.Buffer
	require.Eventually(t, func() bool {
		measured.Reset()
		if err := pprof.StartCPUProfile(&measured); err != nil {
			return false
		}
		time.Sleep(300 * time.Millisecond)
		pprof.StopCPUProfile()
		p, err := profile.ParseData(measured.Bytes())
		return err == nil && samplesIn(p, hot) != nil
	}, patience, time.Millisecond)
	return measured.Bytes()
}

func request(service string, profiles ...[]byte) *connect.Request[pushv1.PushRequest] {
	series := &pushv1.RawProfileSeries{Labels: []*typesv1.LabelPair{
		{Name: "__name__", Value: "process_cpu"}, {Name: "service_name", Value: service}, {Name: "pod", Value: "a"},
	}}
	for _, profile := range profiles {
		series.Samples = append(series.Samples, &pushv1.RawSample{RawProfile: profile})
	}
	return connect.NewRequest(&pushv1.PushRequest{Series: []*pushv1.RawProfileSeries{series}})
}

// TestConnect pushes by Connect in both encodings and compressed, and by gRPC on the same port.
func TestConnect(t *testing.T) {
	g := start(t, "")
	startLoad(t, "controller", "cart")
	measured := cpuProfile(t)
	protocols := &http.Protocols{}
	protocols.SetUnencryptedHTTP2(true)
	h2c := &http.Client{Transport: &http.Transport{Protocols: protocols}}
	t.Cleanup(h2c.CloseIdleConnections)
	for name, c := range map[string]struct {
		client  *http.Client
		options []connect.ClientOption
	}{
		"proto":    {client: http.DefaultClient},
		"json":     {client: http.DefaultClient, options: []connect.ClientOption{connect.WithProtoJSON()}},
		"gzip":     {client: http.DefaultClient, options: []connect.ClientOption{connect.WithSendGzip()}},
		"grpc":     {client: h2c, options: []connect.ClientOption{connect.WithGRPC()}},
		"grpcgzip": {client: h2c, options: []connect.ClientOption{connect.WithGRPC(), connect.WithSendGzip()}},
	} {
		t.Run(name, func(t *testing.T) {
			client := pushv1connect.NewPusherServiceClient(c.client, "http://"+g.intake, c.options...)
			_, err := client.Push(t.Context(), request(name, measured))
			require.NoError(t, err)
			p := g.waitFor(t, name, "cpu", hot)
			assertResource(t, p, "service.name="+name, "pod=a")
			assertLabel(t, hot, "controller", "cart", p)

			_, err = client.Push(t.Context(), request("partial-"+name, []byte("bad"), measured))
			assert.Equal(t, connect.CodeInvalidArgument, connect.CodeOf(err), "%v", err)
			require.ErrorContains(t, err, "1 of 2 profiles refused, the others are accepted: series[0].samples[0]: ")
			g.waitFor(t, "partial-"+name, "cpu", hot)
		})
	}
}
