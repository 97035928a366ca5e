// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package waiting lets a consumer tell a receiver that a request has been processed and only waits for its result, so that
// the receiver can process another request meanwhile.
package waiting // import "github.com/otelpprof/otelpprof/internal/waiting"

import "context"

type contextKey struct{}

// NewContext returns a context for the consumers of a request. They may call begin any number of times.
func NewContext(ctx context.Context, begin func()) context.Context {
	return context.WithValue(ctx, contextKey{}, begin)
}

// Begin says that the request of ctx only waits from now on. If no receiver has called NewContext, it does nothing.
func Begin(ctx context.Context) {
	if begin, ok := ctx.Value(contextKey{}).(func()); ok {
		begin()
	}
}
