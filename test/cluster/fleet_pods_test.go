// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package cluster

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
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
