// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package discovery is how a receiver learns targets from an extension, so that neither imports the other.
package discovery // import "github.com/otelpprof/otelpprof/internal/discovery"

import (
	"fmt"
	"net"
	"strings"
	"time"

	"go.opentelemetry.io/collector/component"
)

// Target is a program that serves profiles. It is not changed after it was passed on. Zero values stand for the options of
// the receiver.
type Target struct {
	// Scheme is http or https.
	Scheme string
	// Address is a host, with or without a port.
	Address string
	// Origin is the address as it was discovered.
	Origin string
	// Position is the place of the target in its group: for a pod, its containers have the order of its specification.
	Position int
	// PathPrefix is the path of the profiles.
	PathPrefix string
	// Interval is the time from one fetch to the next.
	Interval time.Duration
	// Timeout is the time for one answer.
	Timeout time.Duration
	// Params are added to the query of each profile.
	Params map[string]string
	// Attributes are those of the resource.
	Attributes map[string]string
	// Profiles are the profiles with settings of their own, by name.
	Profiles map[string]Profile
	// Listed says that no other profiles than those of Profiles are fetched.
	Listed bool
}

// Profile has the settings of one profile of a target. Zero values stand for those of the target.
type Profile struct {
	// Skip says that the profile is not fetched.
	Skip   bool
	Scheme string
	// Port replaces the port of the address.
	Port string
	// Path is the whole path.
	Path string
}

// Provider is an extension that discovers targets.
type Provider interface {
	component.Component
	// Subscribe calls update with all targets, now and after each change, never concurrently, until cancel was called. A
	// target that did not change is the same pointer. update must not keep the slice, and must not call cancel.
	Subscribe(update func([]*Target)) (cancel func())
}

// WithPort returns an address with another port, unless that is empty.
func WithPort(address, port string) string {
	if port == "" {
		return address
	}
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		host = strings.Trim(address, "[]")
	}
	return net.JoinHostPort(host, port)
}

// Find returns the extension with this id.
func Find(host component.Host, id component.ID) (Provider, error) {
	found, ok := host.GetExtensions()[id]
	if !ok {
		return nil, fmt.Errorf("cannot find the extension %q: is it in service::extensions?", id)
	}
	provider, ok := found.(Provider)
	if !ok {
		return nil, fmt.Errorf("the extension %q discovers no targets", id)
	}
	return provider, nil
}
