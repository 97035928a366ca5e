// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package connections

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"
)

const (
	// ShutdownGrace is how long requests can still arrive after a shutdown begins.
	ShutdownGrace = time.Second
	// drainTime is how long the server reads the rest of a body that the handler did not read.
	drainTime = time.Second
)

// WithDeadline returns a handler that limits how long the body of each request may take to arrive: to timeout, unless it is 0, and to
// ShutdownGrace after stopping ends. What the handler leaves has drainTime. A server that shuts down waits for its requests, so a client
// that stops sending must not keep one open.
func WithDeadline(stopping context.Context, timeout time.Duration, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Body == nil || r.Body == http.NoBody {
			next.ServeHTTP(w, r)
			return
		}
		// An error means that the connection does not support deadlines. Then the request has none.
		limit := func(end time.Time) { _ = http.NewResponseController(w).SetReadDeadline(end) }
		if timeout > 0 {
			limit(time.Now().Add(timeout))
		}
		limited := make(chan struct{})
		cancel := context.AfterFunc(stopping, func() {
			defer close(limited)
			limit(time.Now().Add(ShutdownGrace))
		})
		body := &body{ReadCloser: r.Body, failed: func() { CloseAfter(w, r) }}
		body.end = func() {
			if !cancel() {
				<-limited
			}
			// net/http reads on to notice that the client leaves. A deadline would end the request then.
			limit(time.Time{})
		}
		r.Body = body
		next.ServeHTTP(w, r)
		if !body.arrived {
			body.end()
			rest := drainTime
			if stopping.Err() != nil {
				rest = 0
			}
			limit(time.Now().Add(rest))
		}
	})
}

// CloseAfter closes the connection of a request whose body could not be read, after the answer. Over HTTP/1, net/http cancels the
// contexts of all later requests of that connection, too. It must be called before the header of the answer is written.
func CloseAfter(w http.ResponseWriter, r *http.Request) {
	if r.ProtoMajor == 1 {
		w.Header().Set("Connection", "close")
	}
}

// body is the body of a request. It calls end once, when it has arrived, and failed when it cannot be read.
type body struct {
	io.ReadCloser
	end, failed func()
	arrived     bool
}

// Read reads from the body.
func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if errors.Is(err, io.EOF) {
		if !b.arrived {
			b.arrived = true
			b.end()
		}
	} else if err != nil {
		b.failed()
	}
	return n, err
}
