// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package otlpreferences names the attributes of messages whose sender wrote references into the dictionary.
package otlpreferences // import "github.com/otelpprof/otelpprof/internal/otlpreferences"

import (
	"fmt"

	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/walk"
)

// Resolve returns pd with the keys and strings of its resource and scope attributes in place. Collectors from v0.163 on
// send them over gRPC as references (key_strindex, string_value_strindex), which the gRPC receiver of v0.162 leaves as
// they are: all keys are empty then. pdata resolves references when it unmarshals, so a message with an empty key is
// marshalled and unmarshalled. References beside a key, as v0.159 sends them, are removed. All others are returned as they
// are, and resolved is false. pd must not be used any more.
func Resolve(pd pprofile.Profiles) (out pprofile.Profiles, resolved bool, err error) {
	if !refers(pd) {
		out, resolved = dropLeftovers(pd)
		return out, resolved, nil
	}
	wire, err := (&pprofile.ProtoMarshaler{}).MarshalProfiles(pd)
	if err != nil {
		return pd, false, fmt.Errorf("cannot resolve the references of attributes: %w", err)
	}
	if out, err = (&pprofile.ProtoUnmarshaler{}).UnmarshalProfiles(wire); err != nil {
		return pd, false, fmt.Errorf("cannot resolve the references of attributes: %w", err)
	}
	return out, true, nil
}

// refers tells whether a resource or a scope has an attribute without a key.
func refers(pd pprofile.Profiles) bool {
	for attributes := range walk.Attributes(pd) {
		if _, found := attributes.Get(""); found {
			return true
		}
	}
	return false
}
