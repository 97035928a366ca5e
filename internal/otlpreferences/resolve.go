// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package otlpreferences resolves references to the string table in resource and scope attributes, which newer Collectors send.
package otlpreferences // import "github.com/otelpprof/otelpprof/internal/otlpreferences"

import (
	"fmt"

	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/walk"
)

// Resolve returns pd with references in its resource and scope attributes resolved. Collectors from v0.163 on send keys and
// strings over gRPC as references (key_strindex, string_value_strindex). The gRPC receiver of v0.162 does not resolve them, so
// that all keys are empty. The unmarshaler of pdata does: Resolve marshals and unmarshals a message that has an empty key.
//
// v0.159 sends a reference in addition to the key. Resolve removes such references. Otherwise it returns pd unchanged, and
// resolved is false. The caller must not use pd afterwards.
//
// Resolve calls reserve before it marshals: then there are two messages, and one of them in protobuf. It returns the error of reserve.
func Resolve(pd pprofile.Profiles, reserve func() error) (out pprofile.Profiles, resolved bool, err error) {
	if !hasEmptyKey(pd) {
		out, resolved = removeRedundant(pd)
		return out, resolved, nil
	}
	if err := reserve(); err != nil {
		return pd, false, err
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

// hasEmptyKey reports whether an attribute of a resource or scope has an empty key.
func hasEmptyKey(pd pprofile.Profiles) bool {
	for attributes := range walk.Attributes(pd) {
		if _, found := attributes.Get(""); found {
			return true
		}
	}
	return false
}
