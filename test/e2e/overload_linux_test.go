// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/testkit/gateway"
	"github.com/otelpprof/otelpprof/internal/testkit/must"
	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

const (
	// containerMiB is the memory that the gateway of TestOverload has, and its ceiling: a container of that size is killed
	// above it. As docs/operations.md has it, GOMEMLIMIT is 80% of it and the limiter's limit 75%.
	containerMiB = 512
	// greedySenders is how many uploads the greedy tenant has under way: far more than the memory budget, 40% of GOMEMLIMIT, lets
	// be worked on.
	greedySenders = 40
	// floodPatience is how long a flood may take to show what it is for.
	floodPatience = 3 * time.Minute
)

// overload is a configuration for a small container, by the rule in docs/operations.md.
const overload = `yaml:
receivers:
  pprof:
    server:
      max_concurrent_requests: 16
      max_concurrent_requests_per_tenant: 12
      read_header_timeout: 60s # the processors are busy with other things, too
      read_timeout: 120s
      write_timeout: 180s
exporters:
  otlp_grpc:
    timeout: 60s
    compression: none
    sending_queue:
      num_consumers: 2
`

// TestOverload floods a gateway with large profiles of one tenant. Every answer is a success, or says to come again; the
// memory stays below that of its container; another tenant's uploads are taken meanwhile, and everybody's soon after; the gateway
// stops under load as it should; and what arrives, in the end, is what was accepted.
func TestOverload(t *testing.T) {
	f := newFlood(t)
	f.l.start(t)
	watchMemory(t, f.l.running, &f.peak)

	stop := f.begin(t, "greedy", greedySenders, f.large)
	f.polite(t)
	stop()
	require.False(t, t.Failed())
	assert.Positive(t, f.refusals.Load(), "it was no flood")
	f.untilAccepted(t, "greedy", f.large[0]) // It is over, and so are the refusals.

	stop = f.begin(t, "greedy", greedySenders, f.large)
	accepted := f.count()
	require.Eventually(t, func() bool { return f.count() > accepted+3 }, floodPatience, pollEvery)
	f.stopping.Store(true)
	begin := time.Now()
	require.NoError(t, f.l.running.Terminate())
	require.NoError(t, f.l.running.Wait(time.Minute), "terminationGracePeriodSeconds of the manifests")
	took := time.Since(begin)
	stop()
	t.Logf("%d accepted, %d told to come again, %d arrived before the end, at most %d MiB; stopped in %s",
		f.count(), f.refusals.Load(), len(f.arrivedUploads()), f.peak.Load()>>20, took.Round(time.Millisecond))
	require.False(t, t.Failed())
	assert.Less(t, f.peak.Load(), int64(containerMiB<<20), "anonymous resident memory")

	f.l.start(t) // The queue is on disk: the next process sends what this one has left.
	f.waitForAccepted(t)
}

// flood is the senders of TestOverload, and the account of what they sent.
type flood struct {
	l      *loaded
	client *http.Client
	// large are the bodies of one large profile, small is another.
	large [][]byte
	small []byte

	next, refusals, peak atomic.Int64
	// stopping says that the gateway was told to stop: connections may break.
	stopping atomic.Bool

	mu sync.Mutex
	// accepted are the bodies that were accepted, by number, and unknown those whose answer never came.
	accepted map[int64][]byte
	unknown  map[int64]bool
	// arrived has the ids of the profiles that arrived, by the number of the upload.
	arrived map[int64][]string
}

func newFlood(t *testing.T) *flood {
	t.Helper()
	f := &flood{
		client:   &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: floodPatience},
		small:    readProfile(t, "cpu"),
		large:    largeBodies(t),
		accepted: map[int64][]byte{}, unknown: map[int64]bool{}, arrived: map[int64][]string{},
	}
	f.l = newLoadedWith(t, &loaded{
		queue: queueIn(t), memoryMiB: containerMiB * 75 / 100,
		environment: []string{fmt.Sprintf("GOMEMLIMIT=%dMiB", containerMiB*80/100)},
	}, overload)
	f.l.destination.Take(func(_ context.Context, pd pprofile.Profiles) error { return f.arrive(pd) })
	return f
}

// largeBodies are a heap profile of 2.6 MB, gzipped and plain.
func largeBodies(t *testing.T) [][]byte {
	t.Helper()
	heap := must.Get(os.ReadFile(profiletest.Testdata(t, "pprof", "heap.pb.gz")))(t)
	one, other := must.Get(profile.ParseData(heap))(t), must.Get(profile.ParseData(heap))(t)
	for _, f := range other.Function {
		f.Name += "2"
	}
	both, err := profile.Merge([]*profile.Profile{one, other})
	require.NoError(t, err)
	var zipped, plain bytes.Buffer
	require.NoError(t, both.Write(&zipped))
	require.NoError(t, both.WriteUncompressed(&plain))
	return [][]byte{zipped.Bytes(), plain.Bytes(), zipped.Bytes()}
}

// watchMemory notes the peak of the anonymous memory for as long as the gateway runs.
func watchMemory(t *testing.T, running *gateway.Gateway, peak *atomic.Int64) {
	t.Helper()
	watcher := make(chan struct{})
	go func() {
		defer close(watcher)
		for running.Running() {
			if process, err := running.Process(); err == nil {
				peak.Store(max(peak.Load(), process.Anonymous))
			}
			time.Sleep(10 * time.Millisecond)
		}
	}()
	t.Cleanup(func() {
		running.Kill()
		<-watcher
	})
}

// begin has a tenant upload from many senders until the result is called, which waits for them.
func (f *flood) begin(t *testing.T, tenant string, senders int, bodies [][]byte) (stop func()) {
	t.Helper()
	var stopped atomic.Bool
	var group sync.WaitGroup
	for sender := range senders {
		group.Go(func() {
			for !stopped.Load() && !t.Failed() {
				if !f.upload(t, tenant, bodies[sender%len(bodies)]) {
					time.Sleep(200 * time.Millisecond) // Far from what it was told.
				}
			}
		})
	}
	return func() {
		stopped.Store(true)
		group.Wait()
	}
}

// polite uploads as another tenant, one after the other, which must get through while the flood goes on.
func (f *flood) polite(t *testing.T) {
	t.Helper()
	for range 5 {
		f.untilAccepted(t, "polite", f.small)
	}
}

// untilAccepted uploads again and again.
func (f *flood) untilAccepted(t *testing.T, tenant string, body []byte) {
	t.Helper()
	require.Eventually(t, func() bool { return f.upload(t, tenant, body) }, floodPatience, pollEvery, "%s is never served", tenant)
}

// upload sends a body once, as an upload of its own, and tells whether it was accepted.
func (f *flood) upload(t *testing.T, tenant string, body []byte) bool {
	t.Helper()
	number := f.next.Add(1)
	target := fmt.Sprintf("http://%s/v1/pprof?service.name=%s&resource.upload=%d", f.l.Pprof, tenant, number)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, target, bytes.NewReader(body))
	if !assert.NoError(t, err) {
		return false
	}
	request.Header.Set("X-Scope-OrgID", tenant)
	response, err := f.client.Do(request)
	if err != nil {
		assert.True(t, f.stopping.Load(), "an upload without an answer: %v", err)
		f.note(func() { f.unknown[number] = true })
		return false
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	assert.True(t, err == nil || f.stopping.Load(), err)
	switch response.StatusCode {
	case http.StatusNoContent:
		f.note(func() { f.accepted[number] = body })
		return true
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		f.refusals.Add(1)
		assert.NotEmpty(t, response.Header.Get("Retry-After"), "%s: %s", response.Status, text)
	default:
		assert.Fail(t, "an answer that is neither a success nor says to come again", "%s: %s", response.Status, text)
	}
	return false
}

func (f *flood) note(change func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change()
}

func (f *flood) count() (n int) {
	f.note(func() { n = len(f.accepted) })
	return n
}

// arrive notes the profiles of a message.
func (f *flood) arrive(pd pprofile.Profiles) error {
	for _, resource := range pd.ResourceProfiles().All() {
		text, _ := resource.Resource().Attributes().Get("upload")
		number, err := strconv.ParseInt(text.Str(), 10, 64)
		if err != nil {
			return err
		}
		f.note(func() { f.arrived[number] = append(f.arrived[number], ids(resource)...) })
	}
	return nil
}

func ids(resource pprofile.ResourceProfiles) (all []string) {
	for _, scope := range resource.ScopeProfiles().All() {
		for _, p := range scope.Profiles().All() {
			all = append(all, p.ProfileID().String())
		}
	}
	return all
}

func (f *flood) arrivedUploads() (numbers []int64) {
	f.note(func() { numbers = slices.Sorted(maps.Keys(f.arrived)) })
	return numbers
}

// waitForAccepted waits until everything that was accepted has arrived, and holds that nothing else has.
func (f *flood) waitForAccepted(t *testing.T) {
	t.Helper()
	missing := func() error {
		f.mu.Lock()
		defer f.mu.Unlock()
		for number := range f.accepted {
			if f.arrived[number] == nil {
				return errors.New("upload " + strconv.FormatInt(number, 10) + " is missing")
			}
		}
		return nil
	}
	assert.Eventually(t, func() bool { return missing() == nil }, floodPatience, pollEvery)
	require.NoError(t, missing())
	for _, number := range f.arrivedUploads() {
		body, accepted := f.accepted[number]
		if !accepted {
			assert.True(t, f.unknown[number], "upload %d was refused and has arrived", number)
			continue
		}
		// What was being sent when the gateway stopped may come again.
		assert.ElementsMatch(t, f.idsOf(t, number, body), uniq(f.arrived[number]), "upload %d", number)
	}
}

// idsOf are those of the profiles that an upload must become.
func (f *flood) idsOf(t *testing.T, number int64, body []byte) []string {
	t.Helper()
	resource := pcommon.NewMap()
	resource.PutStr("service.name", map[bool]string{true: "polite", false: "greedy"}[&body[0] == &f.small[0]])
	resource.PutStr("upload", strconv.FormatInt(number, 10))
	pd, _, err := pprof.NewDecoder(pprof.DecodeOptions{}).Decode(body, pprof.Source{Resource: resource})
	require.NoError(t, err)
	return ids(pd.ResourceProfiles().At(0))
}

func uniq(all []string) []string {
	slices.Sort(all)
	return slices.Compact(all)
}
