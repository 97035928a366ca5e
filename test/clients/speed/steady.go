// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"time"
)

// combined sends profiles to OTLP, shows them, and keeps some hundred files of them.
var combined = output{name: "combined", pipeline: `
processors:
  profile_deduplicator:
exporters:
  otlp_http: {endpoint: "http://%[6]s", compression: zstd, sending_queue: {enabled: false}}
  pprof: {file: {directory: "%[7]s/profiles", max_total_size: 50000000}}
  profile_view: {endpoint: "%[8]s"}
service:
  pipelines:
    profiles: {processors: [profile_deduplicator], exporters: [otlp_http, pprof, profile_view]}
`}

const (
	// pageInterval is the time between the beginnings of two pages.
	pageInterval = 10 * time.Second
	// flatTarget is the maximum of a time of the last tenth, as a multiple of that of the first tenth.
	flatTarget = 1.25
	tenths     = 10
)

// steady is what was measured of a gateway under the same load for a long time.
type steady struct {
	schedule
	capacity float64
	// pages are the times that pages took, without those that were refused.
	pages   []time.Duration
	refused int
	// uploads counts all, files those that are left of them.
	uploads, files int
}

// measureSteady sends uploads at half of the capacity, while the gateway draws pages and removes old files.
func measureSteady(o options, u upload) (result *steady, err error) {
	g, err := newGateways(o.binary)
	defer func() { err = errors.Join(err, g.stop()) }()
	if err != nil {
		return nil, err
	}
	m, err := g.start(context.Background(), combined, "GOMAXPROCS=1")
	if err != nil {
		return nil, err
	}
	result = &steady{schedule: schedule{senders: o.senders, part: 0.5}}
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: o.senders}}
	defer client.CloseIdleConnections()
	s := &sender{client: client, at: o.senders}
	// So many uploads also fill what is held for pages, and the directory.
	cost, err := m.cost(s, u, o.uploads*max(o.rounds, 1))
	if err != nil {
		return nil, err
	}
	result.capacity = 1 / max(cost, time.Millisecond/10).Seconds()
	ctx, cancel := context.WithCancel(context.Background())
	drawn := make(chan error, 1)
	go func() {
		drawn <- result.draw(ctx, client, "http://"+m.page+"/download/svg?type=process_cpu:cpu:nanoseconds:cpu:nanoseconds")
	}()
	between := time.Duration(float64(time.Second) / (result.part * result.capacity))
	err = result.run(s, m.receivers[u.receiver], u, between, int(o.steady/between))
	cancel()
	files, globErr := filepath.Glob(filepath.Join(g.directory, "*", "profiles", "*", "*", "*"))
	result.uploads, result.files = s.sent, len(files)
	return result, errors.Join(err, <-drawn, globErr)
}

// draw gets a page again and again. A page that is refused does not end a long measurement.
func (s *steady) draw(ctx context.Context, client *http.Client, url string) error {
	ticker := time.NewTicker(pageInterval)
	defer ticker.Stop()
	for ctx.Err() == nil {
		start := time.Now()
		response, err := client.Get(url)
		if err != nil {
			return err
		}
		_, err = io.Copy(io.Discard, response.Body)
		response.Body.Close()
		switch {
		case err != nil:
			return err
		case response.StatusCode == http.StatusOK:
			s.pages = append(s.pages, time.Since(start))
		default:
			s.refused++
		}
		select {
		case <-ctx.Done():
		case <-ticker.C:
		}
	}
	return nil
}

// renderSteady makes docs/latency.md.
func renderSteady(o options, size int, s *steady) string {
	var out strings.Builder
	fmt.Fprintf(&out, `# Latency under a steady load

Made by `+"`make bench-latency DURATION=%s`"+` (`+"`test/clients/speed`"+`); do not edit.

The built distribution, with one processor (GOMAXPROCS=1), takes a CPU profile of %d kB as raw pprof, deduplicates it, sends it as
OTLP without a queue, writes it to a file and holds it for `+"`profile_view`"+`. Its capacity is 1 s divided by the CPU time of an
upload, %.0f uploads per second. %d senders send at %.0f %% of that. Uploads are due at fixed times, and the time of an upload counts
from when it is due.

Meanwhile the files exceed `+"`max_total_size`"+`, so that the exporter removes the oldest ones each second: %d of %d are left. A flame
graph of what is held is drawn every %s: %d pages, median %s, longest %s, and %d refused.

| from | median, ms | 99 %% within, ms | longest, ms |
|---:|---:|---:|---:|
`, o.steady, (size+500)/1000, s.capacity, s.senders, 100*s.part,
		s.files, s.uploads, pageInterval, len(s.pages), milliseconds(quantile(s.pages, 0.5)), milliseconds(quantile(s.pages, 1)), s.refused)
	for i := range tenths {
		times := s.tenth(i)
		fmt.Fprintf(&out, "| %s | %s | %s | %s |\n", o.steady/tenths*time.Duration(i),
			inMilliseconds(quantile(times, 0.5)), inMilliseconds(quantile(times, 0.99)), inMilliseconds(quantile(times, 1)))
	}
	fmt.Fprintf(&out, "\nLast tenth ÷ first: median %s, 99 %% within %s (target ≤ %g).\n", s.growth(0.5), s.growth(0.99), flatTarget)
	return out.String()
}

// tenth returns the times of a tenth of the uploads.
func (s *steady) tenth(i int) []time.Duration {
	return s.latencies[len(s.latencies)*i/tenths : len(s.latencies)*(i+1)/tenths]
}

// growth compares a quantile of the last tenth with that of the first one.
func (s *steady) growth(part float64) string {
	ratio := float64(quantile(s.tenth(tenths-1), part)) / float64(max(quantile(s.tenth(0), part), 1))
	if ratio > flatTarget {
		return fmt.Sprintf("**%.2f** ✗", ratio)
	}
	return fmt.Sprintf("**%.2f**", ratio)
}
