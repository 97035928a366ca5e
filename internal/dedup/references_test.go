// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package dedup

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/testkit/must"
)

// TestResolveReferences: a value that refers to a string becomes that string, also in lists and maps, and an empty value if there is none.
func TestResolveReferences(t *testing.T) {
	const plain = `{"dictionary":{"stringTable":["","key","alpha"],"attributeTable":[{},{"keyStrindex":1,"value":{"intValue":"7"}}]}}`
	const given = `{"dictionary":{"stringTable":["","key","alpha"],"attributeTable":[{},{"keyStrindex":1,"value":{"stringValueStrindex":2}},
		{"value":{"arrayValue":{"values":[{"kvlistValue":{"values":[{"key":"a","value":{"stringValueStrindex":1}}]}},{"boolValue":true},{}]}}},
		{"value":{"stringValueStrindex":3}},{"value":{"stringValueStrindex":-1}},{"value":{"stringValueStrindex":0}}]}}`
	unmarshal := func(json string) pprofile.Profiles {
		return must.Get((&pprofile.JSONUnmarshaler{}).UnmarshalProfiles([]byte(json)))(t)
	}
	marshal := func(pd pprofile.Profiles) string {
		return string(must.Get((&pprofile.JSONMarshaler{}).MarshalProfiles(pd))(t))
	}
	for _, readOnly := range []bool{false, true} {
		pd, canonical := unmarshal(given), unmarshal(plain)
		if readOnly {
			pd.MarkReadOnly()
			canonical.MarkReadOnly()
		}
		assert.JSONEq(t, `{"dictionary":{"stringTable":["","key","alpha"],"attributeTable":[{"value":{}},{"keyStrindex":1,"value":{"stringValue":"alpha"}},
			{"value":{"arrayValue":{"values":[{"kvlistValue":{"values":[{"key":"a","value":{"stringValue":"key"}}]}},{"boolValue":true},{}]}}},
			{"value":{}},{"value":{}},{"value":{"stringValue":""}}]}}`, marshal(ResolveReferences(pd)))
		assert.Equal(t, canonical, ResolveReferences(canonical))
	}
}
