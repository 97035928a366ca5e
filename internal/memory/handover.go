// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"reflect"
	"runtime"
	"weak"

	"go.opentelemetry.io/collector/pdata/pprofile"
)

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

// handedOver returns the reservation of a message, or nil.
func (b *Budget) handedOver(pd pprofile.Profiles) *Reservation {
	if found, ok := b.handed.Load(weak.Make(identity(pd))); ok {
		return found.(*Reservation)
	}
	return nil
}

// identity returns the address of a message, which pdata does not export.
func identity(pd pprofile.Profiles) *byte {
	return (*byte)(reflect.ValueOf(pd).FieldByName("orig").UnsafePointer())
}
