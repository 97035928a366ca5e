// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profilededuplicator // import "github.com/otelpprof/otelpprof/processor/profilededuplicator"

import (
	"time"

	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/budget"
	"github.com/otelpprof/otelpprof/processor/profilededuplicator/internal/delivered"
)

// messageOverhead is charged for each message that is held, on top of its content.
const messageOverhead = 1024

// message is what a batch holds of one call.
type message struct {
	profiles pprofile.Profiles
	// claim is nil unless repeated profiles are dropped.
	claim *delivered.Claim
	// bytes is the size in protobuf.
	bytes   int
	samples int
	// memory is what the message is charged with.
	memory int64
	// reservation is its part of the memory budget.
	reservation *budget.Reservation
	// result gets nil when the message was delivered, else why not. It is nil if nobody waits for it.
	result chan error
}

// settle tells what became of a message.
func (m *message) settle(arrived func(delivered.ID) bool, err error) {
	m.claim.Settle(arrived)
	if m.result != nil {
		m.result <- err
	}
}

// trigger is what ended a batch.
type trigger int

const (
	triggerTimeout trigger = iota
	triggerSamples
	triggerBytes
	// triggerFull: no further message could be held.
	triggerFull
	triggerShutdown
	triggerCount
)

// triggerNames are the values of the attribute trigger, as in metadata.yaml.
var triggerNames = [triggerCount]string{"timeout", "samples", "bytes", "full", "shutdown"}

// batch is messages of one tenant that go on together.
type batch struct {
	tenant   *tenant
	messages []message
	bytes    int
	samples  int
	memory   int64
	trigger  trigger
	// reservation is what all messages have of the memory budget.
	reservation *budget.Reservation
}

func (b *batch) add(m message) {
	b.messages = append(b.messages, m)
	b.bytes += m.bytes
	b.samples += m.samples
	b.memory += m.memory
	if b.reservation == nil {
		b.reservation = m.reservation
	} else {
		b.reservation.Add(m.reservation)
	}
}

// tenant is the batches of one combination of metadata. The lock of batches guards it.
type tenant struct {
	origin
	// open collects messages. It is nil when there are none.
	open  *batch
	timer *time.Timer
	// due says that open's time is over, but too many flushes were under way.
	due bool
	// waiting are batches that collect no more, for which too many flushes were under way.
	waiting []*batch
	// flushes are under way.
	flushes int
}

// next takes the batch that is to be flushed next, if there is one.
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
