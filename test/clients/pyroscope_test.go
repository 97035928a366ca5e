// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package clients

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime/pprof"
	"slices"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/DataDog/dd-trace-go/v2/profiler"
	"github.com/google/pprof/profile"
	"github.com/grafana/pyroscope-go"
	pushv1 "github.com/grafana/pyroscope/api/gen/proto/go/push/v1"
	"github.com/grafana/pyroscope/api/gen/proto/go/push/v1/pushv1connect"
	typesv1 "github.com/grafana/pyroscope/api/gen/proto/go/types/v1"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// listener keeps what a client logs.
type listener struct {
	mu     sync.Mutex
	errors []string
}

func (*listener) Infof(string, ...any) {}

func (*listener) Debugf(string, ...any) {}

func (l *listener) Errorf(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.errors = append(l.errors, fmt.Sprintf(format, args...))
}

func (l *listener) all() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.errors)
}

// TestPyroscopeGo uploads CPU, heap, goroutines, mutexes and blocking. An upload that is answered with anything but 200
// is an error in the client's log.
func TestPyroscopeGo(t *testing.T) {
	g := start(t, "")
	profileContention(t)
	startLoad(t, "controller", "cart")
	log := &listener{}
	profiler, err := pyroscope.Start(pyroscope.Config{
		ApplicationName: "from-pyroscope", ServerAddress: "http://" + g.intake, TenantID: "team-a",
		Tags: map[string]string{"region": "eu-1"}, UploadRate: time.Second, Logger: log,
		ProfileTypes: []pyroscope.ProfileType{
			pyroscope.ProfileCPU, pyroscope.ProfileAllocSpace, pyroscope.ProfileAllocObjects, pyroscope.ProfileInuseSpace,
			pyroscope.ProfileInuseObjects, pyroscope.ProfileGoroutines, pyroscope.ProfileMutexCount, pyroscope.ProfileMutexDuration,
			pyroscope.ProfileBlockCount, pyroscope.ProfileBlockDuration,
		},
	})
	require.NoError(t, err)
	g.assertLoad(t, "from-pyroscope", "region=eu-1", "pyroscope_spy=gospy")
	require.NoError(t, profiler.Stop())
	assert.Empty(t, log.all())
}

// TestPyroscopeGoWants200 shows that the test above would see an answer that the client does not like: it takes nothing
// but 200, and logs the rest.
func TestPyroscopeGoWants200(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }))
	defer server.Close()
	log := &listener{}
	profiler, err := pyroscope.Start(pyroscope.Config{
		ApplicationName: "unlucky", ServerAddress: server.URL, UploadRate: time.Second, Logger: log,
		ProfileTypes: []pyroscope.ProfileType{pyroscope.ProfileGoroutines},
	})
	require.NoError(t, err)
	defer func() { assert.NoError(t, profiler.Stop()) }()
	require.Eventually(t, func() bool { return len(log.all()) > 0 }, patience, 100*time.Millisecond)
	assert.Contains(t, log.all()[0], "(204)")
}

// TestDatadog uploads by Datadog's profiler, as to an agent.
func TestDatadog(t *testing.T) {
	// It would go to the agent, too.
	t.Setenv("DD_INSTRUMENTATION_TELEMETRY_ENABLED", "false")
	g := start(t, "")
	startLoad(t, "controller", "cart")
	require.NoError(t, profiler.Start(
		profiler.WithAgentAddr(g.intake), profiler.WithService("from-datadog"), profiler.WithEnv("test"), profiler.WithVersion("1.2.3"),
		profiler.WithTags("team:a"), profiler.WithHostname("here"), profiler.WithLogStartup(false),
		profiler.WithPeriod(2*time.Second), profiler.CPUDuration(time.Second),
		profiler.MutexProfileFraction(1), profiler.BlockProfileRate(1),
		profiler.WithProfileTypes(profiler.CPUProfile, profiler.HeapProfile, profiler.GoroutineProfile, profiler.MutexProfile, profiler.BlockProfile),
	))
	defer profiler.Stop()
	g.assertLoad(t, "from-datadog", "deployment.environment.name=test", "service.version=1.2.3", "host.name=here", "team=a", "runtime=go")
}

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
