// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package delivery

import (
	"context"
	"errors"
	"fmt"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/budget"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

// Memory reserves the memory in which an exporter encodes its requests.
type Memory struct{ Budget *budget.Budget }

// Start sets Budget to the budget of the process.
func (m *Memory) Start(host component.Host) (err error) {
	m.Budget, err = budget.Of(host)
	return err
}

// Claim accounts for the memory that the encoding of one request needs, in addition to the message itself.
type Claim struct {
	reservation *budget.Reservation
	// before is the size of the reservation when the claim began. It is for the message.
	before int64
	parts  [claimParts]int64
	// limit is the most that the parts may need together. Queues and batches never use this part of the budget, so it
	// becomes free sooner or later.
	limit int64
	// failed is the retryable error of a reservation.
	failed error
}

// The parts of a claim, see [Claim.Reserve]. Each has its own size: for the tables of the encoder and its pprof, for the compressed
// pprof, for the body of a request, and for a copy of the message.
const (
	ForEncoder = iota
	ForGzip
	ForBody
	forCopy
	claimParts
)

type claimKey struct{}

// Claim begins the claim of a request. The caller must release it. The returned context carries it.
func (m *Memory) Claim(ctx context.Context) (context.Context, *Claim) {
	c := &Claim{limit: m.Budget.Size() / 2}
	// A request from a queue on disk has no reservation yet.
	h, _ := ctx.Value(heldKey{}).(heldMemory)
	if c.reservation = h.memory; c.reservation == nil {
		c.reservation, _ = m.Budget.Reserve(ctx, 0) // 0 bytes are always free.
	}
	if h.memory == nil || h.queued != nil {
		c.reservation.Accept() // The request comes from a queue, so its sender has its answer.
	}
	c.before = c.reservation.Bytes()
	return context.WithValue(ctx, claimKey{}, c), c
}

// Reserve returns a function that reserves memory for a part. The argument is the size of the whole part. The error wraps
// [pprof.ErrTooLarge] if the budget can never have that much. Any other error is retryable.
func (c *Claim) Reserve(ctx context.Context, part int) func(bytes int64) error {
	return func(bytes int64) error {
		total := c.before + bytes - c.parts[part]
		for _, size := range c.parts {
			total += size
		}
		if needed := total - c.before; needed > c.limit {
			return fmt.Errorf("%w: %w: writing it needs %d bytes, half of the budget is %d", pprof.ErrTooLarge, budget.ErrTooLarge, needed, c.limit)
		}
		err := c.reservation.Grow(ctx, total)
		switch {
		case err == nil:
			c.parts[part] = bytes
			return nil
		case errors.Is(err, budget.ErrTooLarge):
			return fmt.Errorf("%w: %w", pprof.ErrTooLarge, err)
		}
		c.failed = err
		return err
	}
}

// Failed reports whether a reservation failed with a retryable error.
func (c *Claim) Failed() bool { return c.failed != nil }

// Release releases the memory of all parts. That of the message stays reserved.
func (c *Claim) Release() { c.reservation.Shrink(c.before) }

// reserveCopy reserves the memory of a copy of a message in the claim of ctx, if there is one.
func reserveCopy(ctx context.Context, pd pprofile.Profiles) error {
	c, found := ctx.Value(claimKey{}).(*Claim)
	if !found {
		return nil
	}
	return c.Reserve(ctx, forCopy)(messageBytes(pd))
}

// messageBytes estimates the memory of a message: twice its encoded size, and entryBytes for the struct of each entry.
func messageBytes(pd pprofile.Profiles) int64 {
	const entryBytes = 160
	d := pd.Dictionary()
	entries := pd.SampleCount() + d.StackTable().Len() + d.LocationTable().Len() + d.FunctionTable().Len() +
		d.MappingTable().Len() + d.AttributeTable().Len() + d.LinkTable().Len() + d.StringTable().Len()
	for _, resource := range pd.ResourceProfiles().All() {
		entries += 2 + resource.ScopeProfiles().Len()
		for _, scope := range resource.ScopeProfiles().All() {
			entries += 2 * scope.Profiles().Len()
		}
	}
	sizer := pprofile.ProtoMarshaler{}
	return int64(2*sizer.ProfilesSize(pd) + entryBytes*entries)
}
