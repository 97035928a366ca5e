// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package adversary

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otelpprof/otelpprof/internal/testkit/gateway"
)

const (
	// stopsWithin is how long a process may take to end after SIGTERM.
	stopsWithin = 10 * time.Second
	// tooMuch is the part of the container's memory at which a process is killed here.
	tooMuch = 1.5
)

// process is a configuration in a container of a size, and the process that runs it at the time.
type process struct {
	*resolved
	mib     int
	backend *backend
	targets *targets

	running *gateway.Gateway
	// before is the front tier, if the process reads from Kafka.
	before *gateway.Gateway
	// uploads is the number of honest profiles that were sent through Kafka.
	uploads int64
	watch   *watch
	honest  []*honest
	// bodies are the names of those that were sent to it.
	bodies []string
	held   heldConnections
}

func newProcess(t *testing.T, s shipped, mib int) *process {
	t.Helper()
	p := &process{resolved: s.resolve(t, mib), mib: mib}
	if address := p.resolved.backend(t); address != "" {
		p.backend = startBackend(t, address, p.front != nil)
	}
	if address := p.byPort[brokerPort]; address != "" {
		startBroker(t, address)
	}
	if address := cmp.Or(p.listening(scraped), p.listening(discovered)); address != "" {
		p.targets = startTargets(t, address)
		p.configs = append(p.configs, p.targets.settings(p.listening(discovered) != ""))
	}
	return p
}

// start runs the process, unless it runs.
func (p *process) start(t *testing.T, settings string) {
	t.Helper()
	if p.running != nil {
		return
	}
	configs := p.configs
	if settings != "" {
		configs = append(slices.Clip(configs), settings)
	}
	if p.front != nil {
		p.before = p.front.run(t, p.front.configs, p.mib)
	}
	p.running = p.run(t, configs, p.mib)
	p.watch = startWatch(p.running, int64(tooMuch*float64(p.mib<<20)))
	p.honest = p.startHonest(t)
}

// run starts a process in a container of so many MiB.
func (r *resolved) run(t *testing.T, configs []string, mib int) *gateway.Gateway {
	t.Helper()
	running, err := gateway.Start(context.WithoutCancel(t.Context()), gateway.Options{
		Binary: distribution(t), Configs: configs, HealthURL: r.health(), Directory: r.directory,
		Environment: []string{
			fmt.Sprintf("GOMEMLIMIT=%dMiB", mib*80/100), "MY_POD_IP=127.0.0.1", "BACKEND_ENDPOINT=" + r.byPort[backendPort],
			"GATEWAY_ENDPOINT=" + r.byPort[backendPort], "KAFKA_BROKERS=" + r.byPort[brokerPort], "POD_NAME=pod-0", "DIRECTORY=" + r.directory,
		},
	})
	require.NoError(t, err)
	return running
}

// stop ends the process, which must obey, and the clients of it. It must be alive and stay below the memory of its container until then.
func (p *process) stop(t *testing.T) {
	t.Helper()
	if p.running == nil {
		return
	}
	for _, h := range p.honest {
		h.close()
	}
	if p.running.Running() {
		begin := now()
		err := p.running.Stop(busyMachine * stopsWithin)
		took := begin.granted()
		if err != nil || took > stopsWithin {
			t.Errorf("after %s: it took %s to stop: %v", strings.Join(p.bodies, ", "), took, err)
		}
		t.Logf("stopped in %s", took.Round(time.Millisecond))
	} else {
		t.Errorf("after %s: the process is dead: %s", strings.Join(p.bodies, ", "), p.fatal())
	}
	p.watch.gone.Wait()
	if peak, _ := p.watch.largest(); peak >= int64(p.mib)<<20 {
		t.Errorf("after %s: it took %d MiB in a container of %d MiB", strings.Join(p.bodies, ", "), peak>>20, p.mib)
	}
	p.held.close()
	if p.before != nil {
		require.NoError(t, p.before.Stop(busyMachine*stopsWithin))
		p.before = nil
	}
	p.running, p.bodies = nil, nil
	if p.backend != nil {
		p.backend.away.Store(false)
	}
}

// restart starts a process with what the last one left, which must live until it has worked on that, and stops it.
func (p *process) restart(t *testing.T) {
	t.Helper()
	if !p.queued() {
		return
	}
	p.start(t, "")
	p.waitIdle()
	peak, _ := p.watch.largest()
	if !p.running.Running() {
		t.Errorf("with the queue that it finds it dies, at %d MiB: %s", peak>>20, p.fatal())
	}
	if peak >= int64(p.mib)<<20 {
		t.Errorf("with the queue that it finds it takes %d MiB in a container of %d MiB", peak>>20, p.mib)
	}
	p.stop(t)
}

// clean forgets what the last process left on disk.
func (p *process) clean(t *testing.T) {
	t.Helper()
	for _, name := range []string{"queue", "profiles"} {
		require.NoError(t, os.RemoveAll(filepath.Join(p.directory, name)))
	}
}

// fatal is what a process said before it died: the line that says why, or the last ones.
func (p *process) fatal() string {
	log := p.running.Log()
	for _, word := range []string{"fatal error:", "panic:"} {
		if i := strings.Index(log, word); i >= 0 {
			line, _, _ := strings.Cut(log[i:], "\n")
			return line
		}
	}
	return log[max(0, len(log)-1000):]
}
