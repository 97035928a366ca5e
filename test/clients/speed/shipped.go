// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"

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
	// front is the configuration that takes the uploads and writes them to Kafka. With "" they are sent to the configuration itself.
	front string
	// holds is how long profiles may wait in it, for others that they are joined with.
	holds time.Duration
}

// allShipped are the configurations that take uploads. The others fetch profiles from targets.
var allShipped = []shipped{
	{file: "gateway.yaml", api: "raw pprof", parts: []part{marshal, deflateMessage, marshal, writeFile}},
	{file: "agent.yaml", api: "raw pprof", parts: []part{marshal, compress}},
	{file: "demo.yaml", api: "raw pprof", parts: []part{marshal, writeFile}},
	{file: "splunk.yaml", api: "Splunk", parts: []part{marshal, writeFile}},
	{file: "kafka-front.yaml", api: "raw pprof", parts: []part{marshal, compress}},
	{file: "kafka-back.yaml", api: "raw pprof", parts: []part{fill, marshal, deflateMessage}, front: "kafka-front.yaml", holds: 2 * time.Second},
	{file: "ebpf.yaml", api: "OTLP", parts: []part{marshal, writeFile, writeFile}, holds: 16 * time.Second},
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
	healthIn  = regexp.MustCompile(`health_check:\s+endpoint: 127\.0\.0\.1:(\d+)`)
	portIn    = regexp.MustCompile(`\bport: (\d+)\b`)
)

// The ports of the configurations: of the receivers in the order of the addresses of [measured], and of the destinations.
var receiverPorts = []string{receiverPprof: "4040", receiverOTLP: "4318", receiverSplunk: "4318"}

const destinationPort, brokerPort = "4320", "9092"

// pyroscope is a destination of config/ebpf.yaml.
const pyroscope = "pyroscope:4040"

// startShipped starts a process with a configuration of a folder, on free addresses. If others write to Kafka for it, it starts one of
// these before, whose receivers are those of the result.
func (g *gateways) startShipped(ctx context.Context, configs string, c shipped, environment ...string) (*measured, error) {
	if c.front == "" {
		return g.startWith(ctx, configs, c, g.broker, environment...)
	}
	front, err := g.startWith(ctx, configs, shipped{file: c.front}, g.keeping)
	if err != nil {
		return nil, err
	}
	m, err := g.startWith(ctx, configs, c, g.keeping, environment...)
	if err == nil {
		m.receivers = front.receivers
	}
	return m, err
}

// startWith starts a process that writes to a broker, or reads from it.
func (g *gateways) startWith(ctx context.Context, configs string, c shipped, broker *kfake.Cluster, environment ...string) (*measured, error) {
	content, err := fs.ReadFile(os.DirFS(configs), c.file)
	if err != nil {
		return nil, err
	}
	byPort := map[string]string{destinationPort: g.address, brokerPort: broker.ListenAddrs()[0]}
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
	text = strings.ReplaceAll(text, pyroscope, g.address)
	health := healthIn.FindSubmatch(content)
	if health == nil {
		err = errors.Join(err, fmt.Errorf("%s has no health_check", c.file))
	}
	if err != nil {
		return nil, err
	}
	directory, err := g.newDirectory()
	if err != nil {
		return nil, err
	}
	options := gateway.Options{
		Binary: g.binary, HealthURL: "http://" + byPort[string(health[1])], Directory: directory, Configs: []string{"yaml:" + text},
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

// loads are the loads on each configuration. The first ones are closed loops.
var loads = []schedule{{senders: 1}, {senders: 8}, {senders: 64}, {senders: 64, part: 0.5}, {senders: 64, part: 0.8}}

// capacityLoad is the load whose cost is compared with the plain way, and tells the capacity.
const capacityLoad = 1

// loaded is what was measured under one load.
type loaded struct {
	schedule
	// cost is the CPU time per upload, one of each round.
	cost []time.Duration
	// sent is the number of bytes per upload that the destination got, memory the largest anonymous memory.
	sent, memory int64
}

// shippedResult is what was measured of one configuration.
type shippedResult struct {
	shipped
	loads []loaded
	// limit is the plain way, one of each round.
	limit []time.Duration
}

// measureShipped measures configurations with one processor each, so that the others are for the senders.
func measureShipped(o options, y yardsticks, uploads []upload, chosen []shipped) (results []*shippedResult, err error) {
	for _, c := range chosen {
		r := &shippedResult{shipped: c}
		for _, l := range loads {
			r.loads = append(r.loads, loaded{schedule: l})
		}
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
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
	defer client.CloseIdleConnections()
	s := &sender{client: client, at: o.senders, tenants: o.tenants}
	warming := loaded{schedule: schedule{senders: o.senders}}
	if err := warming.measure(g, m, s, u, 0, o.uploads, r.holds); err != nil {
		return err
	}
	parts := slices.Concat(u.parts, r.parts)
	if r.front != "" {
		parts = r.parts
	}
	for round := range o.rounds {
		times, err := y.measure(o.uploads)
		if err != nil {
			return err
		}
		r.limit = append(r.limit, sum(times, parts))
		for i := range r.loads {
			l := &r.loads[i]
			// Few senders send fewer: each upload may wait for a batch.
			between, count := time.Duration(0), max(o.uploads*min(l.senders, 8)/8, 1)
			if l.part > 0 {
				if round < o.rounds-1 { // They take long, so once is enough.
					continue
				}
				between = time.Duration(float64(quantile(r.loads[capacityLoad].cost, 0.5)) / l.part)
				count = int(o.load / between)
			}
			if err := l.measure(g, m, s, u, between, count, r.holds); err != nil {
				return err
			}
		}
	}
	return nil
}

// measure adds a round. The process holds profiles for so long.
func (l *loaded) measure(g *gateways, m *measured, s *sender, u upload, between time.Duration, count int, holds time.Duration) error {
	before, largest := g.received.Load(), m.watch()
	cost, err := m.costOf(count, func() error {
		defer time.Sleep(holds)
		return l.run(s, m.receivers[u.receiver], u, between, count)
	})
	l.memory = max(l.memory, largest())
	l.cost = append(l.cost, cost)
	l.sent = (g.received.Load() - before) / int64(count)
	return err
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

With GOMAXPROCS=1. The plain way is the work that none can avoid, with the same levels of compression: inflating, filling pdata, and for
each output marshalling and compressing; the goal is %.1f times that. Without a load, each sender sends its next upload after the answer to
the last one. With a load, uploads are due at fixed times for %s, at a part of the capacity, 1 s divided by the CPU time with 8 senders; the
time of an upload counts from when it is due. The memory is the largest anonymous one (RssAnon). Uploads of kafka-back.yaml are answered by
its front tier.

| configuration | senders | load | CPU, ms | ÷ plain way | bytes out | memory, MiB | median, ms | 99 %% within, ms |
|---|---:|---:|---:|---:|---:|---:|---:|---:|
`, goal, o.load)
	for _, r := range results {
		limit := quantile(r.limit, 0.5)
		for _, l := range r.loads {
			load := ""
			if l.part > 0 {
				load = fmt.Sprintf("%.0f %%", 100*l.part)
			}
			cost := quantile(l.cost, 0.5)
			fmt.Fprintf(&out, "| %s | %d | %s | %s | %s | %d | %d | %s | %s |\n", &r.shipped, l.senders, load, inMilliseconds(cost),
				marked(float64(cost)/float64(max(limit, 1)), goal), l.sent, l.memory>>20, inMilliseconds(quantile(l.latencies, 0.5)), inMilliseconds(quantile(l.latencies, 0.99)))
		}
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
