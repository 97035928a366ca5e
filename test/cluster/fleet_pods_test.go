// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package cluster

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const podsPath = "/api/v1/namespaces/" + fleetNamespace + "/pods"

// create makes pods that run, as a deployment and a kubelet would, and returns how long that took.
func (f *fleet) create(t *testing.T, number int, wanted bool) time.Duration {
	t.Helper()
	begin := time.Now()
	f.parallel(t, number, func(ctx context.Context, _ int) error {
		pod, err := f.listen(wanted)
		if err != nil {
			return err
		}
		if err := f.do(ctx, http.MethodPost, podsPath, f.describe(pod)); err != nil {
			return err
		}
		if err := f.do(ctx, http.MethodPatch, podsPath+"/"+pod.name+"/status", statusOf(pod)); err != nil {
			return err
		}
		f.mu.Lock()
		defer f.mu.Unlock()
		pod.ran = time.Now()
		return nil
	})
	return time.Since(begin)
}

// describe is a pod of one of some services, with the annotations of config/scrape-kubernetes.yaml.
func (f *fleet) describe(pod *fleetPod) object {
	service := fmt.Sprintf("service-%02s", pod.name[len(pod.name)-2:])
	return object{
		"apiVersion": "v1", "kind": "Pod",
		"metadata": object{
			"name": pod.name, "labels": object{"app.kubernetes.io/name": service, "app.kubernetes.io/version": "1.0.0"},
			"annotations": object{"pprof.io/scrape": strconv.FormatBool(pod.wanted), "pprof.io/port": strconv.Itoa(fleetPort)},
		},
		"spec": object{
			"nodeName": node, "terminationGracePeriodSeconds": 0,
			"containers": []object{{
				"name": "app", "image": service + ":1.0.0", "ports": []object{{"name": "http", "containerPort": 8080}},
				"env": []object{{"name": "LEVEL", "value": "info"}},
			}},
		},
	}
}

// statusOf is what a kubelet reports of a running pod.
func statusOf(pod *fleetPod) object {
	now := time.Now().UTC().Format(time.RFC3339)
	var conditions []object
	for _, kind := range []string{"PodScheduled", "Initialized", "ContainersReady", "Ready"} {
		conditions = append(conditions, object{"type": kind, "status": "True", "lastTransitionTime": now})
	}
	return object{"status": object{
		"phase": "Running", "podIP": pod.address, "podIPs": []object{{"ip": pod.address}}, "startTime": now, "conditions": conditions,
		"containerStatuses": []object{{
			"name": "app", "image": "app", "imageID": "app@sha256:1", "containerID": "containerd://" + pod.name, "ready": true, "started": true,
			"restartCount": 0, "state": object{"running": object{"startedAt": now}},
		}},
	}}
}

// delete deletes the oldest pods of those that are there. Their programs go on.
func (f *fleet) delete(t *testing.T, number int) {
	t.Helper()
	var chosen []*fleetPod
	f.mu.Lock()
	for _, pod := range f.pods {
		if pod.gone.IsZero() && len(chosen) < number {
			chosen = append(chosen, pod)
		}
	}
	f.mu.Unlock()
	f.parallel(t, len(chosen), func(ctx context.Context, i int) error {
		if err := f.do(ctx, http.MethodDelete, podsPath+"/"+chosen[i].name+"?gracePeriodSeconds=0", nil); err != nil {
			return err
		}
		f.mu.Lock()
		defer f.mu.Unlock()
		chosen[i].gone = time.Now()
		return nil
	})
}

func (f *fleet) do(ctx context.Context, method, path string, body any) error {
	status, answer, err := f.request(ctx, method, path, body)
	if err == nil && status >= http.StatusMultipleChoices {
		err = fmt.Errorf("%s %s: %v", method, path, answer["message"])
	}
	return err
}

// parallel calls a function for each number below a limit, several at a time.
func (*fleet) parallel(t *testing.T, limit int, call func(ctx context.Context, i int) error) {
	t.Helper()
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(t.Context())) // it works in a cleanup, too
	defer cancel(nil)
	numbers := make(chan int)
	var running sync.WaitGroup
	for range writers {
		running.Go(func() {
			for i := range numbers {
				if err := call(ctx, i); err != nil {
					cancel(err)
				}
			}
		})
	}
	for i := range limit {
		numbers <- i
	}
	close(numbers)
	running.Wait()
	require.NoError(t, context.Cause(ctx))
}

// replica is a Collector that scrapes its share of the fleet.
type replica struct {
	*process
	name string
}

// startReplica runs config/scrape-kubernetes.yaml, with a shorter interval. Its address and its name depend on the number.
func (f *fleet) startReplica(t *testing.T, number, shards int) replica {
	t.Helper()
	r := replica{name: fmt.Sprintf("%d of %d", number, shards)}
	address := fmt.Sprintf("127.83.17.%d", 10*shards+number)
	r.process = f.startInPod(t, address, fleetNamespace, []string{
		"SCRAPE_SHARD=" + strconv.Itoa(number), "SCRAPE_SHARDS=" + strconv.Itoa(shards), "GOMEMLIMIT=409MiB", // as the chart's agent
	}, "--config="+absolute(t, root+"/config/scrape-kubernetes.yaml"), "--config=yaml:"+fmt.Sprintf(`
extensions: {health_check: {endpoint: "%[1]s:13133"}}
receivers: {pprof: {scrape: {collection_interval: %[2]s, profiles: [%[3]s], headers: {%[4]s: %[5]q}}}}
exporters: {pprof: {file: {directory: /var/lib/otelcol-pprof}}}
service: {telemetry: {metrics: {readers: [{pull: {exporter: {prometheus: {host: "%[1]s", port: 8888, without_scope_info: true, without_type_suffix: true, without_units: true}}}}]}}}
`, address, interval, fetched, askedBy, r.name))
	return r
}

// usage is what a process has used.
type usage struct {
	// anonymous is its memory without mapped files, heap what Go's heap holds.
	anonymous, heap int64
}

// usage measures a while, since garbage and answers that are worked on come and go: the heap is the least that was seen, the
// memory the most.
func (r replica) usage(t *testing.T, length time.Duration) (u usage) {
	t.Helper()
	u.heap = math.MaxInt64
	for begin := time.Now(); time.Since(begin) < length; time.Sleep(10 * pollEvery) {
		u.anonymous = max(u.anonymous, r.anonymous(t))
		u.heap = min(u.heap, int64(r.metric(t, "otelcol_process_runtime_heap_alloc_bytes")))
	}
	return u
}

func (p *process) anonymous(t *testing.T) int64 {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.command.Process.Pid))
	require.NoError(t, err)
	_, after, found := strings.Cut(string(text), "RssAnon:")
	require.True(t, found)
	kilobytes, err := strconv.ParseInt(strings.Fields(after)[0], 10, 64)
	require.NoError(t, err)
	return kilobytes << 10
}

// metric is the sum of a metric of the Collector over all series that have these texts in their labels.
func (p *process) metric(t *testing.T, name string, labels ...string) (sum float64) {
	t.Helper()
	_, text := p.get(t, ":8888/metrics")
lines:
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		end := strings.LastIndexByte(line, ' ')
		if !strings.HasPrefix(line, name+"{") && !strings.HasPrefix(line, name+" ") {
			continue
		}
		series, value := line[:end], line[end+1:]
		for _, label := range labels {
			if !strings.Contains(series, label) {
				continue lines
			}
		}
		number, err := strconv.ParseFloat(value, 64)
		require.NoError(t, err)
		sum += number
	}
	return sum
}

// counters is how many counters the replica keeps, to subtract them from the next ones.
func (r replica) counters(t *testing.T) int64 {
	t.Helper()
	return int64(r.metric(t, "otelcol_receiver_pprof_remembered_counters", `api="scrape"`))
}

// targets is how many targets the replica has passed on.
func (r replica) targets(t *testing.T) int {
	t.Helper()
	return int(r.metric(t, "otelcol_extension_target_discovery_targets", `state="passed_on"`))
}
