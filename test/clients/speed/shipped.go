// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/otelpprof/otelpprof/internal/testkit/gateway"
)

// shipped is a configuration of the folder config, with what differs from it.
type shipped struct {
	file string
	// variant is configuration that begins with "yaml:", or an environment variable. "" is none.
	variant string
	// api is the upload that its senders make, and parts is what its exporters cannot avoid.
	api   string
	parts []part
}

// allShipped are the configurations that take uploads. The others read from targets, from Kafka, or hold profiles for 15 seconds.
var allShipped = []shipped{
	{file: "gateway.yaml", api: "raw pprof", parts: []part{marshal, deflateMessage, marshal, writeFile}},
	{file: "agent.yaml", api: "raw pprof", parts: []part{marshal, compress}},
	{file: "demo.yaml", api: "raw pprof", parts: []part{marshal, writeFile}},
	{file: "splunk.yaml", api: "Splunk", parts: []part{marshal, writeFile}},
	{file: "kafka-front.yaml", api: "raw pprof", parts: []part{marshal, compress}},
}

func (c *shipped) String() string {
	if c.variant == "" {
		return "`" + c.file + "`"
	}
	return "`" + c.file + "`, `" + strings.TrimPrefix(c.variant, "yaml:") + "`"
}

// uploadOf returns the upload of its senders.
func (c *shipped) uploadOf(all []upload) upload {
	return all[slices.IndexFunc(all, func(u upload) bool { return u.api == c.api })]
}

// shippedOf returns the configurations with these names, or all; each once for each variant.
func shippedOf(files, variants string) (chosen []shipped, err error) {
	for _, c := range allShipped {
		if files != "" && !slices.Contains(strings.Split(files, ","), c.file) {
			continue
		}
		for variant := range strings.SplitSeq(variants, ";") {
			c.variant = strings.TrimSpace(variant)
			chosen = append(chosen, c)
		}
	}
	if len(chosen) == 0 {
		return nil, fmt.Errorf("no configuration of %q takes uploads", files)
	}
	return chosen, nil
}

var (
	addressIn = regexp.MustCompile(`127\.0\.0\.1:(\d+)`)
	portIn    = regexp.MustCompile(`\bport: (\d+)\b`)
)

// The ports of the configurations: of the receivers in the order of the addresses of [measured], and of the destinations.
var receiverPorts = []string{receiverPprof: "4040", receiverOTLP: "4318", receiverSplunk: "4318"}

const healthPort, destinationPort, brokerPort = "4042", "4320", "9092"

// startShipped starts a process with a configuration of a folder, on free addresses.
func (g *gateways) startShipped(ctx context.Context, configs string, c shipped, environment ...string) (*measured, error) {
	content, err := os.ReadFile(filepath.Join(configs, c.file))
	if err != nil {
		return nil, err
	}
	byPort := map[string]string{destinationPort: g.address, brokerPort: g.broker.ListenAddrs()[0]}
	resolve := func(port string) string {
		if byPort[port] == "" && err == nil {
			var free []string
			if free, err = gateway.FreeAddresses(ctx, 1); err == nil {
				byPort[port] = free[0]
			}
		}
		return byPort[port]
	}
	text := addressIn.ReplaceAllStringFunc(string(content), func(address string) string {
		return resolve(address[strings.LastIndexByte(address, ':')+1:])
	})
	text = portIn.ReplaceAllStringFunc(text, func(setting string) string {
		_, port, _ := net.SplitHostPort(resolve(strings.TrimPrefix(setting, "port: ")))
		return "port: " + port
	})
	if err != nil {
		return nil, err
	}
	directory := filepath.Join(g.directory, fmt.Sprint(len(g.all)))
	if err := os.Mkdir(directory, 0o700); err != nil {
		return nil, err
	}
	options := gateway.Options{
		Binary: g.binary, HealthURL: "http://" + byPort[healthPort], Directory: directory, Configs: []string{"yaml:" + text},
		Environment: environment,
	}
	if strings.HasPrefix(c.variant, "yaml:") {
		options.Configs = append(options.Configs, c.variant)
	} else if c.variant != "" {
		options.Environment = append(slices.Clone(environment), c.variant)
	}
	running, err := gateway.Start(ctx, options)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", &c, err)
	}
	m := &measured{Gateway: running, name: c.String()}
	for _, port := range receiverPorts {
		m.receivers = append(m.receivers, byPort[port])
	}
	g.all = append(g.all, m)
	return m, nil
}

// closedLoops are the numbers of senders of which each sends its next upload after its answer.
var closedLoops = []int{1, 8, 64}

// openLoops are the parts of the capacity at which uploads are due at fixed times.
var openLoops = []float64{0.5, 0.8}

// shippedResult is what was measured of one configuration.
type shippedResult struct {
	shipped
	// cost is the CPU time per upload for each of closedLoops, one of each round. limit is the plain way.
	cost  map[int][]time.Duration
	limit []time.Duration
	open  []*schedule
	// sent is the number of bytes per upload that the destination got, memory the largest anonymous memory with the most senders.
	sent   int64
	memory int64
}

// measureShipped measures configurations with one processor each, so that the others are for the senders.
func measureShipped(o options, y yardsticks, uploads []upload, chosen []shipped) (results []*shippedResult, err error) {
	for _, c := range chosen {
		r := &shippedResult{shipped: c, cost: map[int][]time.Duration{}}
		if err := r.measure(o, y, c.uploadOf(uploads)); err != nil {
			return nil, fmt.Errorf("%s: %w", &c, err)
		}
		results = append(results, r)
	}
	return results, nil
}

func (r *shippedResult) measure(o options, y yardsticks, u upload) (err error) {
	g, err := newGateways(o.binary)
	defer func() { err = errors.Join(err, g.stop()) }()
	if err != nil {
		return err
	}
	m, err := g.startShipped(context.Background(), o.configs, r.shipped, "GOMAXPROCS=1")
	if err != nil {
		return err
	}
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: slices.Max(closedLoops)}}
	defer client.CloseIdleConnections()
	s := &sender{client: client}
	for round := range o.rounds + 1 {
		times, err := y.measure(o.uploads)
		if err != nil {
			return err
		}
		for _, senders := range closedLoops {
			s.at = senders
			before, largest := g.received.Load(), m.watch()
			cost, err := m.cost(s, u, o.uploads)
			r.memory = max(r.memory, largest())
			if err != nil {
				return err
			}
			if round == 0 { // It warms the process up.
				continue
			}
			r.cost[senders] = append(r.cost[senders], cost)
			r.sent = (g.received.Load() - before) / int64(o.uploads)
		}
		if round > 0 {
			r.limit = append(r.limit, sum(times, u.parts, r.parts))
		}
	}
	capacity := 1 / max(quantile(r.cost[8], 0.5), time.Millisecond/10).Seconds()
	for _, part := range openLoops {
		load := &schedule{senders: 64, part: part}
		if err := load.run(s, m.receivers[u.receiver], u, capacity, o.load); err != nil {
			return err
		}
		r.open = append(r.open, load)
	}
	return nil
}

// watchInterval is the time between two looks at the memory.
const watchInterval = 20 * time.Millisecond

// watch looks at the memory until the returned function is called, which tells the most that was seen.
func (m *measured) watch() (largest func() int64) {
	stop, most := make(chan struct{}), int64(0)
	var watching sync.WaitGroup
	watching.Go(func() {
		for {
			if p, err := m.Process(); err == nil {
				most = max(most, p.Anonymous)
			}
			select {
			case <-stop:
				return
			case <-time.After(watchInterval):
			}
		}
	})
	return func() int64 {
		close(stop)
		watching.Wait()
		return most
	}
}

// renderShipped makes the section about the shipped configurations.
func renderShipped(o options, results []*shippedResult) string {
	var out strings.Builder
	fmt.Fprintf(&out, `
## What an upload costs the shipped configurations

With GOMAXPROCS=1, after one round that does not count. The plain way is the work that none can avoid, with the same levels of compression:
inflating, filling pdata, and for each output marshalling and compressing. First 1, 8 and 64 senders send their next upload after the answer
to the last one. Then 64 senders send at fixed times for %s, at a half and at 80 %% of the capacity, 1 s divided by the CPU time with 8
senders; the time of an upload counts from when it is due. The goal is %.1f times the plain way with 8 senders.

| configuration | plain way | CPU with 1 sender | 8 | 64 | ratio | bytes out | largest anonymous memory | 50 %%: median | 99 %% within | 80 %%: median | 99 %% within |
|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|
`, o.load, goal)
	for _, r := range results {
		limit := quantile(r.limit, 0.5)
		fmt.Fprintf(&out, "| %s | %s |", &r.shipped, milliseconds(limit))
		for _, senders := range slices.Sorted(maps.Keys(r.cost)) {
			fmt.Fprintf(&out, " %s |", milliseconds(quantile(r.cost[senders], 0.5)))
		}
		fmt.Fprintf(&out, " %s | %d | %d MiB |", marked(float64(quantile(r.cost[8], 0.5))/float64(max(limit, 1)), goal), r.sent, r.memory>>20)
		for _, l := range r.open {
			fmt.Fprintf(&out, " %s | %s |", milliseconds(quantile(l.latencies, 0.5)), milliseconds(quantile(l.latencies, 0.99)))
		}
		out.WriteString("\n")
	}
	return out.String()
}

// marked marks a ratio above its target.
func marked(ratio, target float64) string {
	if ratio > target {
		return fmt.Sprintf("%.2f ✗", ratio)
	}
	return fmt.Sprintf("%.2f", ratio)
}
