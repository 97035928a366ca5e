// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"sync"

	"github.com/otelpprof/otelpprof/internal/inflate"
)

// envelopes keeps the memory that compressed envelopes are inflated into.
var envelopes = sync.Pool{New: func() any { return new([]byte) }}

// envelope takes the Content-Encoding off a body that holds profiles within something else. The result is valid until
// release is called.
func (s *server) envelope(body []byte) (plain []byte, release func(), err error) {
	if inflate.Plain(body) {
		return body, func() {}, nil
	}
	buffer := envelopes.Get().(*[]byte)
	*buffer, err = inflate.Append((*buffer)[:0], body, s.intake.limits.InflatedBytes)
	release = func() {
		if cap(*buffer) <= maxPooledBody {
			envelopes.Put(buffer)
		}
	}
	if err != nil {
		release()
		return nil, nil, err
	}
	return *buffer, release, nil
}
