// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package waiting lets a consumer tell a receiver that it has processed a request and only waits for the result. The
// receiver can then process another request meanwhile.
package waiting // import "github.com/otelpprof/otelpprof/internal/waiting"

import "context"

type contextKey struct{}

// NewContext returns a context for the consumers of a request. [Begin] calls begin, perhaps several times.
func NewContext(ctx context.Context, begin func()) context.Context {
	return context.WithValue(ctx, contextKey{}, begin)
}

// Begin tells the receiver that the request of ctx only waits from now on. It does nothing if ctx does not come from
// NewContext.
func Begin(ctx context.Context) {
	if begin, ok := ctx.Value(contextKey{}).(func()); ok {
		begin()
	}
}
