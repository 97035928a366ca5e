// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package persist

import (
	"context"
	"math"
	"time"
)

const (
	// batchBytes is the approximate size of a batch. A larger entry needs several batches.
	batchBytes = 4 * pieceBytes
	// maxOperations limits the operations with which a batch begins.
	maxOperations = 1000
	// leastReserved is the memory of a batch, including the memory of the storage for it.
	leastReserved = 3 * (batchBytes + pieceBytes)
)

// run writes until Close. Then it ends when all is written or when writing fails.
func (p *Persister) run() {
	for {
		more, err := p.round()
		if err != nil {
			p.settings.Failed(OperationWrite, err)
			more = false
		}
		if more {
			continue
		}
		if !p.wait(err != nil) {
			return
		}
	}
}

// wait waits until there is work. It returns false if run must end.
func (p *Persister) wait(failed bool) bool {
	wake, pause := p.wake, p.untilExpiry()
	if failed {
		wake, pause = nil, retryInterval
	}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-wake:
		return true
	case <-timer.C:
		return true
	case <-p.stopping:
		return !failed && p.unfinished()
	}
}

// untilExpiry returns how long the oldest record that was left stays in the storage, or a long time if there is none.
func (p *Persister) untilExpiry() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.left) == 0 || p.settings.Age == 0 {
		return math.MaxInt64
	}
	return time.Until(p.left[0].arrived.Add(p.settings.Age)) + time.Millisecond
}

func (p *Persister) unfinished() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.pending.Len()+len(p.gone) > 0
}

// round deletes removed entries and writes pending ones, up to the size of a batch. It returns whether there is more work.
func (p *Persister) round() (more bool, err error) {
	b := &batch{p: p}
	if b.reservation, err = p.settings.Budget.Reserve(context.Background(), leastReserved); err != nil {
		return false, err
	}
	defer b.reservation.Release()
	p.mu.Lock()
	p.expire()
	for len(p.gone) > 0 && len(b.operations) < maxOperations {
		last := len(p.gone) - 1
		b.delete(p.gone[last])
		p.gone = p.gone[:last]
	}
	p.mu.Unlock()
	if err = b.fill(); err == nil {
		err = b.flush()
	}
	if err != nil {
		b.undo()
		return false, err
	}
	return p.unfinished(), nil
}

// fill adds pending records. After an error, the caller must undo the batch.
func (b *batch) fill() error {
	for b.bytes < batchBytes && len(b.operations) < maxOperations {
		r := b.p.next()
		if r == nil {
			return nil
		}
		if err := b.add(r); err != nil {
			b.fail(r)
			return err
		}
	}
	return nil
}

// next returns the oldest pending record, or nil while there are keys to delete. Deletions come first, so that the storage
// never exceeds its limit.
func (p *Persister) next() *record {
	p.mu.Lock()
	defer p.mu.Unlock()
	front := p.pending.Front()
	if front == nil || len(p.gone) > 0 {
		return nil
	}
	r := p.pending.Remove(front).(*record)
	r.state = stateWriting
	return r
}
