// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package targetdiscoveryextension

import (
	"context"
	"fmt"
	"net"
	"time"

	"github.com/prometheus/common/config"
)

// dialLimited returns a dialer whose connections end after so many bytes. The client of Prometheus has no limit for an answer,
// asks for no compression, and uses each connection once: so this is the limit of one answer with its header.
func dialLimited(limit int64) config.DialContextFunc {
	dialer := &net.Dialer{Timeout: 30 * time.Second}
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dialer.DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return &limitedConn{Conn: conn, limit: limit, rest: limit}, nil
	}
}

// limitedConn fails once more than limit bytes were read.
type limitedConn struct {
	net.Conn
	limit, rest int64
}

// Read implements [net.Conn].
func (c *limitedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if c.rest -= int64(n); c.rest < 0 {
		return 0, fmt.Errorf("the answer is larger than max_response_size, %d bytes", c.limit)
	}
	return n, err
}
