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

// Memory is where an exporter reserves what its requests take.
type Memory struct{ Budget *budget.Budget }

// Start finds the budget of the process.
func (m *Memory) Start(host component.Host) (err error) {
	m.Budget, err = budget.Of(host)
	return err
}

// Claim is what the work on one request takes of the budget, by parts.
type Claim struct {
	reservation *budget.Reservation
	// before is what the reservation has for the message.
	before int64
	parts  [claimParts]int64
	// most is what the work may take. It is what queues and batches leave free, so that it is to be had sooner or later.
	most int64
	// failed is the reason why memory was not to be had.
	failed error
}

// The parts of a claim.
const (
	ForEncoder = iota
	ForGzip
	ForBody
	forCopy
	claimParts
)

type claimKey struct{}

// Claim begins the claim of a request, which must be released. The context carries it.
func (m *Memory) Claim(ctx context.Context) (context.Context, *Claim) {
	c := &Claim{most: m.Budget.Size() / 2}
	// What comes from a queue on disk has none yet.
	h, _ := ctx.Value(heldKey{}).(heldMemory)
	if c.reservation = h.memory; c.reservation == nil {
		c.reservation, _ = m.Budget.Reserve(ctx, 0) // nothing cannot be refused
	}
	if h.memory == nil || h.queued != nil {
		c.reservation.Accept() // It comes from a queue.
	}
	c.before = c.reservation.Bytes()
	return context.WithValue(ctx, claimKey{}, c), c
}

// Reserve returns what asks for the memory of a part, with the number of bytes that it takes by then. An error that is
// [pprof.ErrTooLarge] says that it can never have them. After any other the request may be repeated.
func (c *Claim) Reserve(ctx context.Context, part int) func(bytes int64) error {
	return func(bytes int64) error {
		total := c.before + bytes - c.parts[part]
		for _, taken := range c.parts {
			total += taken
		}
		if work := total - c.before; work > c.most {
			return fmt.Errorf("%w: %w: writing it needs %d bytes, half of the budget is %d", pprof.ErrTooLarge, budget.ErrTooLarge, work, c.most)
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

// Failed tells whether memory was not to be had. The request may be repeated.
func (c *Claim) Failed() bool { return c.failed != nil }

// Release gives back what the request took.
func (c *Claim) Release() { c.reservation.Shrink(c.before) }

// reserveCopy asks for the memory of a copy of a message for the claim of the context, if it has one.
func reserveCopy(ctx context.Context, pd pprofile.Profiles) error {
	c, has := ctx.Value(claimKey{}).(*Claim)
	if !has {
		return nil
	}
	return c.Reserve(ctx, forCopy)(messageBytes(pd))
}

// messageBytes is about how much memory a message takes: its fields, and for each entry what holds it.
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
