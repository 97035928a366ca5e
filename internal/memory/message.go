// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"weak"

	"go.opentelemetry.io/collector/consumer/xconsumer"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/dictionary"
	"github.com/otelpprof/otelpprof/internal/otlpstatus"
)

// MessageFactor is the reservation of a message as a multiple of its size in memory: for itself, and for one copy that joining,
// deduplicating or marshalling makes.
const MessageFactor = 2

type contextKey struct{}

// NewContext returns a context that carries the reservation of a message to the consumers of the message. A consumer that keeps the
// message after it has returned must retain the reservation.
func NewContext(ctx context.Context, r *Reservation) context.Context {
	return context.WithValue(ctx, contextKey{}, r)
}

// FromContext returns the reservation in ctx, or nil.
func FromContext(ctx context.Context) *Reservation {
	r, _ := ctx.Value(contextKey{}).(*Reservation)
	return r
}

// Message returns the reservation of a message, which the caller must release, and a context that carries it: the one of ctx, the one
// that was handed over, or else a new one. If another consumer of the message has split off the bytes of that in ctx, they are reserved again.
func (b *Budget) Message(ctx context.Context, pd pprofile.Profiles) (context.Context, *Reservation, error) {
	r, complete := FromContext(ctx).Retain(), false
	r.locked(func() { complete = !r.split })
	if b == nil || complete {
		return ctx, r, nil
	}
	if found, handed := b.handed.Load(weak.Make(identity(pd))); handed && r == nil {
		r = found.(*Reservation).Retain()
	}
	if r == nil {
		r = b.Begin()
	}
	if err := r.Grow(ctx, MessageFactor*dictionary.MessageMemory(pd)); err != nil {
		r.Release()
		return ctx, nil, err
	}
	return NewContext(ctx, r), r, nil
}

// Beside returns a new reservation for work beside the message of ctx, or for work of its own if ctx has none. The caller must release it.
func (b *Budget) Beside(ctx context.Context) *Reservation {
	if r := FromContext(ctx); r != nil {
		return r.Work(0)
	}
	return b.Begin()
}

// Parts is the consumer of the parts that a message is split into. Each has a reservation of its own, since a queue may hold it when
// the message is gone. Meanwhile the message keeps so many bytes, for what is left of it.
type Parts struct {
	xconsumer.Profiles

	Kept int64
}

// ConsumeProfiles passes a part of the message of ctx on. The error is that of [Reservation.Grow] or of the next consumer; one that wraps
// [ErrTooLarge] is permanent.
func (p Parts) ConsumeProfiles(ctx context.Context, part pprofile.Profiles) error {
	message, needed := FromContext(ctx), MessageFactor*dictionary.MessageMemory(part)
	own := message.Work(min(needed, message.Bytes()-p.Kept))
	err := own.Grow(ctx, needed)
	if errors.Is(err, ErrTooLarge) {
		// The message was admitted, so its part is, with all that the message has.
		own.Release()
		own = message.Work(needed)
		err = own.Grow(ctx, needed)
	}
	defer own.Release()
	if err != nil {
		return Refusal("cannot hold a part of the message", err)
	}
	return p.Profiles.ConsumeProfiles(NewContext(ctx, own), part)
}

// Refusal returns the error for the sender of a message for which there is no memory. It is permanent if there never can be.
func Refusal(text string, err error) error {
	if errors.Is(err, ErrTooLarge) {
		return otlpstatus.BadRequest("%s: %w", text, err)
	}
	return fmt.Errorf("%s: %w", text, err)
}

// HandOver gives a message its reservation until the garbage collector frees the message. It is for a message that reaches its
// consumers without a context of ours: [Budget.Message] finds the reservation.
func (b *Budget) HandOver(pd pprofile.Profiles, r *Reservation) {
	message := identity(pd)
	key := weak.Make(message)
	b.handed.Store(key, r)
	runtime.AddCleanup(message, func(key weak.Pointer[byte]) {
		b.handed.Delete(key)
		r.Release()
	}, key)
}

// identity returns the address of a message, which pdata does not export.
func identity(pd pprofile.Profiles) *byte {
	return (*byte)(reflect.ValueOf(pd).FieldByName("orig").UnsafePointer())
}
