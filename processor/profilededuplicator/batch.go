// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profilededuplicator // import "github.com/otelpprof/otelpprof/processor/profilededuplicator"

import (
	"time"

	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/budget"
	"github.com/otelpprof/otelpprof/processor/profilededuplicator/internal/delivered"
)

// messageOverhead is charged for each held message, in addition to its content.
const messageOverhead = 1024

// message is the message of one call in a batch.
type message struct {
	profiles pprofile.Profiles
	// claim is nil unless repeated profiles are dropped.
	claim *delivered.Claim
	// bytes is the size in protobuf.
	bytes   int
	samples int
	// memory is how many bytes the message is charged with.
	memory int64
	// small says that the message may use what is kept for small ones.
	small bool
	// reservation is its part of the memory budget.
	reservation *budget.Reservation
	// result gets nil when the message was delivered, else the error. It is nil if the sender does not wait.
	result chan error
}

// settle reports to the sender and to the claim what was delivered.
func (m *message) settle(arrived func(delivered.ID) bool, err error) {
	m.claim.Settle(arrived)
	if m.result != nil {
		m.result <- err
	}
}

// trigger is why a batch was closed.
type trigger int

const (
	triggerTimeout trigger = iota
	triggerSamples
	triggerBytes
	// triggerFull: a limit did not allow one more message.
	triggerFull
	triggerShutdown
	triggerCount
)

// triggerNames are the values of the attribute trigger, as in metadata.yaml.
var triggerNames = [triggerCount]string{"timeout", "samples", "bytes", "full", "shutdown"}

// batch is the messages of one tenant that are joined.
type batch struct {
	tenant   *tenant
	messages []message
	bytes    int
	samples  int
	memory   int64
	// small is the memory of its small messages when they were added.
	small   int64
	trigger trigger
	// reservation is the part of the memory budget that all messages have.
	reservation *budget.Reservation
}

func (b *batch) add(m message) {
	b.messages = append(b.messages, m)
	b.bytes += m.bytes
	b.samples += m.samples
	b.memory += m.memory
	if m.small {
		b.small += m.memory
	}
	if b.reservation == nil {
		b.reservation = m.reservation
	} else {
		b.reservation.Add(m.reservation)
	}
}

// tenant has the batches of one combination of metadata values. The lock of batches guards it.
type tenant struct {
	origin
	// open collects messages. It is nil when there are none.
	open  *batch
	timer *time.Timer
	// due says that the timeout of open has passed, but too many flushes were running.
	due bool
	// waiting are closed batches for which too many flushes were running.
	waiting []*batch
	// flushes is the number of running flushes.
	flushes int
}

// next removes and returns the batch that is to be flushed next, or nil.
func (t *tenant) next() *batch {
	if len(t.waiting) > 0 {
		b := t.waiting[0]
		t.waiting[0] = nil
		t.waiting = t.waiting[1:]
		return b
	}
	if t.open != nil && t.due {
		b := t.open
		t.open = nil
		return b
	}
	return nil
}

func (t *tenant) idle() bool {
	return t.open == nil && len(t.waiting) == 0 && t.flushes == 0
}
