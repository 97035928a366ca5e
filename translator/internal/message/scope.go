// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package message

import (
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/translator/internal/profileid"
	"github.com/otelpprof/otelpprof/translator/internal/semconv"
)

// AddScope appends a resource, which is copied unless it is the zero Map, and a scope. It returns the scope and the ids of its profiles.
// These depend only on the resource and the payloads.
func AddScope(pd pprofile.Profiles, from pcommon.Map, name, version string, payloads ...[]byte) (pprofile.ScopeProfiles, profileid.IDs) {
	ids := profileid.NewHash()
	for _, payload := range payloads {
		ids.Bytes(payload)
	}
	resource := pd.ResourceProfiles().AppendEmpty()
	resource.SetSchemaUrl(semconv.SchemaURL)
	if from != (pcommon.Map{}) {
		from.CopyTo(resource.Resource().Attributes())
		ids.Attributes(from)
	}
	scope := resource.ScopeProfiles().AppendEmpty()
	scope.SetSchemaUrl(semconv.SchemaURL)
	scope.Scope().SetName(name)
	scope.Scope().SetVersion(version)
	return scope, ids.IDs()
}
