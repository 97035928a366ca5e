// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package configcheck

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/collector/config/confignet"
)

// number is the type of an option with a number or a duration.
type number interface {
	int | int64 | time.Duration
}

// Positive returns an error unless the value of an option is above 0.
func Positive[T number](option string, value T) error {
	if value > 0 {
		return nil
	}
	return fmt.Errorf("%s must be above 0, is %v", option, value)
}

// NotNegative returns an error if the value of an option is below 0.
func NotNegative[T number](option string, value T) error {
	if value >= 0 {
		return nil
	}
	return fmt.Errorf("%s must not be negative, is %v", option, value)
}

// Between returns an error unless the value of an option is at least least and at most most.
func Between[T number](option string, value, least, most T) error {
	if least <= value && value <= most {
		return nil
	}
	return fmt.Errorf("%s must be %v to %v, is %v", option, least, most, value)
}

// word returns an error unless the value of an option is one of its words.
func word(option string, value any, words []string) error {
	text, isText := value.(string)
	if isText && slices.Contains(words, text) {
		return nil
	}
	last := len(words) - 1
	return fmt.Errorf("%s must be %s or %s, is %q", option, strings.Join(words[:last], ", "), words[last], fmt.Sprint(value))
}

// MetadataKeys returns an error for empty and repeated keys of client metadata. Their case does not matter. option is the name
// of the list.
func MetadataKeys(option string, keys []string) error {
	var errs []error
	seen := map[string]bool{}
	for i, key := range keys {
		lower := strings.ToLower(key)
		switch {
		case key == "":
			errs = append(errs, fmt.Errorf("%s[%d] must not be empty", option, i))
		case seen[lower]:
			errs = append(errs, fmt.Errorf("%s[%d]: %q is listed twice (case does not matter)", option, i, key))
		}
		seen[lower] = true
	}
	return errors.Join(errs...)
}

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

// URL returns an error for an endpoint that is not the URL of an HTTP server.
func URL(option, text string) error {
	if text == "" {
		return fmt.Errorf("%s must be specified", option)
	}
	parsed, err := url.Parse(text)
	if err != nil {
		return fmt.Errorf("%s: %w", option, err)
	}
	if parsed.Scheme != "http" && parsed.Scheme != "https" || parsed.Host == "" {
		return fmt.Errorf("%s must be a URL that begins with http:// or https://, is %q", option, text)
	}
	return nil
}
