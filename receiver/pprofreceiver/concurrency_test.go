// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"net/http"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
)

// TestConcurrentRequests sends requests with different values to all APIs at the same time. Each message has the values
// of its request: reused buffers do not mix requests up.
func TestConcurrentRequests(t *testing.T) {
	r := run(t, nil)
	const senders, rounds = 8, 10
	var all sync.WaitGroup
	want := map[string]map[string]int64{}
	for sender := range senders {
		for round := range rounds {
			n := 1 + sender*rounds + round
			service := "s" + strconv.Itoa(n)
			p := cpuProfile(1)
			p.Sample[0].Value = []int64{int64(n), int64(n) * 1000}
			p.Function[0].Name = service
			count := map[int]int64{0: 1, 1: 1, 2: 1, 3: 2, 4: 1}[n%5]
			want[service] = map[string]int64{"samples/count": int64(n) * count, "cpu/nanoseconds": int64(n) * 1000 * count}
			body := plain(t, p)
			target, content, headers := "/v1/pprof?service.name="+service, body, []string{"Content-Encoding", "gzip"}
			switch n % 5 {
			case 0:
				content = gz(t, body)
			case 1:
				target, content = "/ingest?name="+service, gz(t, formOf("b", "profile", string(zs(t, body))))
				headers = append(headers, asForm...)
			case 2:
				target, content = pushPath, gz(t, pushRequest(false, map[string]string{"service_name": service}, body))
				headers = append(headers, "Content-Type", "application/proto")
			case 3:
				event := `{"tags_profiler":"service:` + service + `"}`
				target, content = "/profiling/v1/input", gz(t, formOf("b", "a.pprof", string(body), "b.pprof", string(gz(t, body)), "event", event))
				headers = append(headers, asForm...)
			case 4:
				target, content = parcaPath, zs(t, pushRequest(true, map[string]string{"service_name": service}, gz(t, body)))
				headers = []string{"Content-Encoding", "zstd", "Content-Type", "application/proto"}
			}
			all.Go(func() {
				got := r.post(t, target, content, headers...)
				assert.Contains(t, []int{http.StatusOK, http.StatusNoContent}, got.status, got.text)
			})
		}
	}
	all.Wait()
	got := map[string]map[string]int64{}
	for _, message := range r.sink.all() {
		require.NoError(t, profiletest.Check(message))
		resource := message.ResourceProfiles().At(0)
		service, _ := resource.Resource().Attributes().Get("service.name")
		sum := map[string]int64{}
		for _, scope := range resource.ScopeProfiles().All() {
			for key, value := range sumsOf(message.Dictionary(), scope) {
				sum[key] += value
			}
		}
		got[service.Str()] = sum
		assert.Contains(t, message.Dictionary().StringTable().AsRaw(), service.Str())
	}
	assert.Equal(t, want, got)
}
