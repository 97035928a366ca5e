// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package configcheck

import (
	"errors"
	"fmt"
	"net"
	"strings"

	"go.opentelemetry.io/collector/config/confignet"
)

// ListenAddress checks the endpoint of a server: a host, which may be empty, and a port.
func ListenAddress(address confignet.AddrConfig) error {
	switch {
	case address.Endpoint == "":
		return errors.New("endpoint must be set")
	case !strings.HasPrefix(string(address.Transport), "tcp"):
		return nil
	case strings.Contains(address.Endpoint, "://"):
		return fmt.Errorf("endpoint must be a host and a port, without a scheme, is %q: write for example localhost:4040", address.Endpoint)
	}
	return HostPort(address.Endpoint)
}

// HostPort checks an endpoint without a scheme.
func HostPort(endpoint string) error {
	_, port, err := net.SplitHostPort(endpoint)
	if err != nil || port == "" {
		return fmt.Errorf("endpoint must have a port, is %q: write for example localhost:4040", endpoint)
	}
	if _, err := net.LookupPort("tcp", port); err != nil {
		return fmt.Errorf("endpoint must have a port from 0 to 65535, is %q", endpoint)
	}
	return nil
}

// Collide reports whether two servers would listen on the same port. Port 0 never collides: each gets a free port.
func Collide(a, b confignet.AddrConfig) bool {
	hostA, portA, errA := net.SplitHostPort(a.Endpoint)
	hostB, portB, errB := net.SplitHostPort(b.Endpoint)
	if errA != nil || errB != nil || a.Transport != b.Transport || portA != portB || portA == "0" {
		return false
	}
	return hostA == hostB || isUnspecified(hostA) || isUnspecified(hostB)
}

// isUnspecified reports whether a server on this host listens on all interfaces.
func isUnspecified(host string) bool {
	return host == "" || net.ParseIP(host).IsUnspecified()
}
