// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package budget limits the memory of all requests of the process together.
//
// A request has one [Reservation] in one [Budget] of bytes. It reserves bytes before it allocates them, and releases them
// when the next consumer has answered. A request that waits for its first bytes holds none. Requests that wait for more
// bytes are served before these. If every reserved byte belongs to a request that waits for more, the request that began to
// wait last gets an error: otherwise all would wait forever.
package budget // import "github.com/otelpprof/otelpprof/internal/budget"
