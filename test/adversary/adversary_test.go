// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package adversary

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otelpprof/otelpprof/internal/testkit/gateway"
)

// TestAdversary sends each body to each configuration that takes it, in containers of some sizes.
func TestAdversary(t *testing.T) {
	e := extentOf(t)
	t.Cleanup(func() { logSlowest(t) })
	if path := recordPath(); path != "" {
		t.Cleanup(func() { writeDocuments(t, path) }) // when all that is parallel has ended
	}
	for _, s := range e.configurations {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			for _, mib := range e.sizes {
				t.Run(fmt.Sprintf("%dMiB", mib), func(t *testing.T) { e.attackAll(t, s, mib) })
			}
		})
	}
}

func (e extent) attackAll(t *testing.T, s shipped, mib int) {
	t.Helper()
	p := newProcess(t, s, mib)
	for _, b := range bodies() {
		if !p.takes(b) || b.only != s.name && slices.Contains(e.partly, s.name) {
			continue
		}
		t.Run(b.name, func(t *testing.T) {
			if b.ownProcess() || len(p.bodies) >= e.together {
				e.end(t, p)
			}
			e.attackWith(t, p, b)
			if b.ownProcess() {
				p.stop(t)
				p.restart(t)
				p.clean(t)
			}
		})
	}
	e.end(t, p)
}

// end stops a process as it should stop, and lets another live with its queue.
func (e extent) end(t *testing.T, p *process) {
	t.Helper()
	if p.running == nil {
		return
	}
	p.stop(t)
	p.restart(t)
	p.clean(t)
}

// attackWith sends a body as often as the extent says.
func (e extent) attackWith(t *testing.T, p *process, b body) {
	t.Helper()
	wire := b.bytes()
	require.Less(t, len(wire), 20<<20, "it is larger than any listener takes")
	times := e.times
	if b.times > 0 {
		times = []int{b.times}
	}
	for _, n := range times {
		t.Run(fmt.Sprintf("x%d", n), func(t *testing.T) {
			if b.away {
				e.end(t, p) // What earlier clients sent would still wait for the backend, and leave no memory to others.
			}
			p.start(t, b.settings)
			if b.away {
				p.backend.away.Store(true)
			}
			if !slices.Contains(p.bodies, b.name) {
				p.bodies = append(p.bodies, b.name)
			}
			p.attack(t, b, wire, n)
			if !p.running.Running() {
				p.stop(t) // It is dead; the next body gets another one, with what it left.
				p.restart(t)
				p.clean(t)
			}
		})
	}
}

// attack sends a body so many times at once and holds what must be true meanwhile and afterwards.
func (p *process) attack(t *testing.T, b body, wire []byte, times int) {
	t.Helper()
	p.watch.begin()
	p.takeFaults()
	begin := time.Now()
	var answers *tally
	if b.attack != nil {
		answers = b.attack(t.Context(), p, wire, times)
	} else {
		answers = send(t.Context(), p, b, wire, times)
	}
	took := time.Since(begin)
	if b.busy {
		return
	}
	if b.reload {
		p.waitHonest()
		p.takeFaults()
	}
	if p.before != nil {
		p.waitBackend(t.Context(), captured(t, "pprof", "cpu.pb.gz"), answers)
	}
	p.waitHonest()
	if answers.accepted {
		p.waitIdle()
	}
	peak, killed := p.watch.largest()
	faults, slowest := p.takeFaults()

	m := &measurement{
		Configuration: p.name, ContainerMiB: p.mib, Body: b.name, To: string(b.to), WireBytes: len(wire), Times: times,
		Answers: answers.String(), PeakMiB: int(peak >> 20), Seconds: took.Seconds(), HonestSeconds: slowest.Seconds(),
	}
	t.Logf("%s; the first refusal: %s", m, answers.first)
	if m.PeakMiB >= p.mib {
		t.Errorf("%d MiB of anonymous memory in a container of %d MiB", m.PeakMiB, p.mib)
	}
	switch {
	case killed:
		t.Error("killed above the memory of its container")
	case !p.running.Running():
		t.Errorf("the process is dead: %s", p.fatal())
	default:
		for _, fault := range append(answers.faults, faults...) {
			t.Error(fault)
		}
	}
	m.Failed = t.Failed()
	m.record(t)
}

const (
	// idleFor is how long a process must take little time of a processor before the next attack, at most idleWithin. Batches wait
	// 200 ms before they go on.
	idleFor    = 250 * time.Millisecond
	idleWithin = 20 * time.Second
)

// waitIdle waits until what was taken has been worked on.
func (p *process) waitIdle() {
	end := time.Now().Add(idleWithin)
	for p.running.Running() && time.Now().Before(end) {
		before, _ := gateway.CPUTime(p.running.PID())
		time.Sleep(idleFor)
		after, err := gateway.CPUTime(p.running.PID())
		if err != nil || after-before < idleFor/10 {
			return
		}
	}
}
