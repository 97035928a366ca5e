// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package waiting lets a consumer tell a receiver that a request has no work left and only waits for its result, so that
// the receiver gives the place of the request to another one.
package waiting // import "github.com/otelpprof/otelpprof/internal/waiting"

import "context"

type contextKey struct{}

// NewContext returns a context for the consumers of a request. begin may be called more than once, or not at all.
func NewContext(ctx context.Context, begin func()) context.Context {
	return context.WithValue(ctx, contextKey{}, begin)
}

// Begin says that the request of ctx only waits from now on. Without a receiver that wants to know it does nothing.
func Begin(ctx context.Context) {
	if begin, ok := ctx.Value(contextKey{}).(func()); ok {
		begin()
	}
}
