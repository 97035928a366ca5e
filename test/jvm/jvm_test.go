// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package jvm

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"maps"
	"mime/multipart"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pierrec/lz4/v4"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/consumer/xconsumer"
	"go.opentelemetry.io/collector/pdata/pprofile"
	"go.opentelemetry.io/collector/receiver/receivertest"

	"github.com/otelpprof/otelpprof/internal/testkit/gateway"
	"github.com/otelpprof/otelpprof/internal/testkit/gatewaytest"
	"github.com/otelpprof/otelpprof/internal/testkit/must"
	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
	"github.com/otelpprof/otelpprof/receiver/pprofreceiver"
)

// startReceiver returns the URL of a receiver, and a function that returns what it passed on.
func startReceiver(t *testing.T) (url string, received func() pprofile.Profiles) {
	t.Helper()
	messages := make(chan pprofile.Profiles, 1)
	next, err := xconsumer.NewProfiles(func(_ context.Context, pd pprofile.Profiles) error {
		messages <- pd
		return nil
	})
	require.NoError(t, err)
	addresses := must.Get(gateway.FreeAddresses(t.Context(), 1))(t)
	factory := pprofreceiver.NewFactory()
	cfg := factory.CreateDefaultConfig()
	require.NoError(t, confmap.NewFromStringMap(map[string]any{"server": map[string]any{"endpoint": addresses[0]}}).Unmarshal(cfg))
	receiver := must.Get(factory.CreateProfiles(t.Context(), receivertest.NewNopSettings(factory.Type()), cfg, next))(t)
	require.NoError(t, receiver.Start(t.Context(), componenttest.NewNopHost()))
	t.Cleanup(func() { assert.NoError(t, receiver.Shutdown(context.WithoutCancel(t.Context()))) })
	return "http://" + addresses[0], func() pprofile.Profiles { return <-messages }
}

// post sends a form of these files, by their names.
func post(t *testing.T, url string, files map[string][]byte) {
	t.Helper()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	for name, content := range files {
		part, err := form.CreateFormFile(name, name)
		require.NoError(t, err)
		_, err = part.Write(content)
		require.NoError(t, err)
	}
	require.NoError(t, form.Close())
	answer := gatewaytest.Send(t, http.MethodPost, url, body.Bytes(), "Content-Type", form.FormDataContentType())
	require.Equal(t, http.StatusOK, answer.Status, answer.Text)
}

// TestJVM posts recordings of a program as the agents of Pyroscope and Datadog do, and compares them with what the JDK reads.
func TestJVM(t *testing.T) {
	for _, jdk := range jdks(t) {
		t.Run(filepath.Base(filepath.Dir(jdk)), func(t *testing.T) { testJVM(t, jdk) })
	}
}

func testJVM(t *testing.T, jdk string) {
	t.Helper()
	path := record(t, jdk)
	recording := must.Get(os.ReadFile(path))(t)
	want := printed(t, jdk, path, "jdk.ExecutionSample", "jdk.ObjectAllocationInNewTLAB", "jdk.ObjectAllocationOutsideTLAB",
		"jdk.ObjectAllocationSample", "jdk.JavaMonitorEnter", "jdk.NativeMethodSample", "jdk.CPUTimeSample", "jdk.ActiveSetting")
	url, received := startReceiver(t)
	for name, upload := range map[string]func(){
		"pyroscope": func() {
			post(t, url+"/ingest?name=busy%7Bregion=eu%7D&spyName=javaspy&format=jfr&from=1&until=2", map[string][]byte{
				"jfr": compressed(t, recording, func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) }),
			})
		},
		"datadog": func() {
			post(t, url+"/profiling/v1/input", map[string][]byte{
				"main.jfr": compressed(t, recording, func(w io.Writer) io.WriteCloser { return lz4.NewWriter(w) }),
				"event":    []byte(`{"attachments":["main.jfr"],"tags_profiler":"service:busy,language:jvm","family":"java","version":"4"}`),
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			upload()
			pd := received()
			require.NoError(t, profiletest.CheckOptions{Deduplicated: true}.Check(pd))
			service, _ := pd.ResourceProfiles().At(0).Resource().Attributes().Get("service.name")
			assert.Equal(t, "busy", service.Str())
			compare(t, pd, maps.Clone(want), clockStep(recording))
		})
	}
}

func compressed(t *testing.T, content []byte, writer func(w io.Writer) io.WriteCloser) []byte {
	t.Helper()
	var out bytes.Buffer
	w := writer(&out)
	_, err := w.Write(content)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return out.Bytes()
}

// profile is what a profile has of one type.
type profile struct {
	sum    int64
	times  []int64
	stacks map[string]int
	leaves map[string]bool
}

// profilesOf returns the profiles of a message by the name of their type.
func profilesOf(pd pprofile.Profiles) map[string]profile {
	all := map[string]profile{}
	dict := pd.Dictionary()
	for _, p := range pd.ResourceProfiles().At(0).ScopeProfiles().At(0).Profiles().All() {
		one := profile{stacks: map[string]int{}, leaves: map[string]bool{}}
		for _, sample := range p.Samples().All() {
			var frames []string
			for _, i := range dict.StackTable().At(int(sample.StackIndex())).LocationIndices().All() {
				line := dict.LocationTable().At(int(i)).Lines().At(0)
				name := dict.StringTable().At(int(dict.FunctionTable().At(int(line.FunctionIndex())).NameStrindex()))
				frames = append(frames, fmt.Sprintf("%s:%d", name, line.Line()))
				one.leaves[name] = true
			}
			for i, value := range sample.Values().All() {
				one.sum += value
				one.times = append(one.times, int64(sample.TimestampsUnixNano().At(i)))
				one.stacks[threadOf(dict, sample)+"|"+strings.Join(frames, ";")]++
			}
		}
		slices.Sort(one.times)
		all[dict.StringTable().At(int(p.SampleType().TypeStrindex()))] = one
	}
	return all
}

func threadOf(dict pprofile.ProfilesDictionary, sample pprofile.Sample) string {
	for _, i := range sample.AttributeIndices().All() {
		if a := dict.AttributeTable().At(int(i)); dict.StringTable().At(int(a.KeyStrindex())) == "thread.name" {
			return a.Value().Str()
		}
	}
	return ""
}

// generated finds what is different in the names of generated classes in each process.
var generated = regexp.MustCompile(`(\$\$Lambda|LambdaForm\$[A-Z]+)[$\d]*[+/][^.;]*`)

// stackText writes a stack as profilesOf does.
func stackText(frames []frame) string {
	var texts []string
	for i := range frames {
		texts = append(texts, fmt.Sprintf("%s.%s:%d", frames[i].Method.Type.Name, frames[i].Method.Name, max(frames[i].LineNumber, 0)))
	}
	return generated.ReplaceAllString(strings.Join(texts, ";"), "${1}_")
}

// findStacks gives events that have no stack in want one that the same thread has in other events, as in got. The stack of an event can
// be in the chunk before. The reader of the JDK does not find it there if the metadata of the two chunks differ. The thread that writes
// the chunks can wait once, and has no other event then.
func findStacks(want, got map[string]int) {
	for stack, n := range got {
		name, _, _ := strings.Cut(stack, "|")
		found := 0 < want[stack] || name == "JFR Periodic Tasks"
		for none := name + "|"; found && want[stack] < n && got[none] < want[none]; {
			want[stack]++
			if want[none]--; want[none] == 0 {
				delete(want, none)
			}
		}
	}
}

// compare holds that there are the same events with the same values, times, threads and stacks. Times may differ by step.
func compare(t *testing.T, pd pprofile.Profiles, want map[string][]event, step time.Duration) {
	t.Helper()
	got := profilesOf(pd)
	// The period changes shortly after a chunk begins. A second of samples with the wrong period would make more of a difference.
	const changing = 50_000_000
	delay := func(e *event) int64 { return duration(t, e.Duration) }
	one := func(*event) int64 { return 1 }
	period := func(e *event) int64 { return periodAt(want["jdk.ActiveSetting"], e.StartTime) }
	cpu, native := "jdk.ExecutionSample", int64(20_000_000)
	cpuPeriod, wallPeriod := period, func(*event) int64 { return native }
	if len(want["jdk.CPUTimeSample"]) > 0 {
		// Execution samples are of the wall clock.
		cpu, cpuPeriod = "jdk.CPUTimeSample", func(e *event) int64 { return duration(t, e.SamplingPeriod) }
		natives := len(want["jdk.NativeMethodSample"])
		want["jdk.NativeMethodSample"] = append(want["jdk.NativeMethodSample"], want["jdk.ExecutionSample"]...)
		seen := 0
		wallPeriod = func(e *event) int64 {
			if seen++; seen <= natives {
				return native
			}
			return period(e)
		}
	}
	for _, c := range []struct {
		profile, event string
		value          func(e *event) int64
		delta          float64
	}{
		{"cpu", cpu, cpuPeriod, changing},
		{"wall", "jdk.NativeMethodSample", wallPeriod, changing},
		{"alloc_in_new_tlab_bytes", "jdk.ObjectAllocationInNewTLAB", func(e *event) int64 { return e.TLABSize }, 0},
		{"alloc_in_new_tlab_objects", "jdk.ObjectAllocationInNewTLAB", one, 0},
		{"alloc_outside_tlab_bytes", "jdk.ObjectAllocationOutsideTLAB", func(e *event) int64 { return e.AllocationSize }, 0},
		{"alloc_outside_tlab_objects", "jdk.ObjectAllocationOutsideTLAB", one, 0},
		{"alloc_sample_bytes", "jdk.ObjectAllocationSample", func(e *event) int64 { return e.Weight }, 0},
		{"alloc_sample_objects", "jdk.ObjectAllocationSample", one, 0},
		{"delay", "jdk.JavaMonitorEnter", delay, 1000}, // Rounded for each event.
		{"contentions", "jdk.JavaMonitorEnter", one, 0},
	} {
		events := want[c.event]
		assert.InDelta(t, sumOf(events, c.value), got[c.profile].sum, c.delta, c.profile)
		assertTimes(t, timesOf(events), got[c.profile].times, step, c.profile)
		wantStacks := stacksOf(events, func(e *event) thread {
			if e.SampledThread.JavaName != "" {
				return e.SampledThread
			}
			return e.EventThread
		})
		findStacks(wantStacks, got[c.profile].stacks)
		assert.Equal(t, wantStacks, got[c.profile].stacks, c.profile)
	}
	for _, name := range []string{"Busy.hotAdd", "Busy.hotShift"} {
		assert.Contains(t, got["cpu"].leaves, name)
	}
	assert.Contains(t, got["alloc_outside_tlab_bytes"].leaves, "Busy.allocate")
	assert.Contains(t, got["delay"].leaves, "Busy.contend")
}
