// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package dictionary

import (
	"reflect"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"
	"go.opentelemetry.io/collector/pdata/xpdata/entity"
)

// TestSizes: the sizes are at least those of the structs that pdata wraps, and at most 16 bytes more.
func TestSizes(t *testing.T) {
	for name, tt := range map[string]struct {
		wrapper any
		want    uintptr
	}{
		"resource":  {pprofile.NewResourceProfiles(), ResourceProfilesSize},
		"scope":     {pprofile.NewScopeProfiles(), ScopeProfilesSize},
		"entity":    {entity.NewEntityRef(), EntitySize},
		"profile":   {pprofile.NewProfile(), ProfileSize},
		"sample":    {pprofile.NewSample(), SampleSize},
		"function":  {pprofile.NewFunction(), FunctionSize},
		"mapping":   {pprofile.NewMapping(), MappingSize},
		"location":  {pprofile.NewLocation(), LocationSize},
		"line":      {pprofile.NewLine(), LineSize},
		"stack":     {pprofile.NewStack(), StackSize},
		"attribute": {pprofile.NewKeyValueAndUnit(), AttributeSize},
		"link":      {pprofile.NewLink(), LinkSize},
		"value":     {pcommon.NewValueEmpty(), ValueSize},
		"pair":      {pcommon.NewMap(), KeyValueSize},
	} {
		wrapped, found := reflect.TypeOf(tt.wrapper).FieldByName("orig")
		if !found { // Some wrap a named wrapper.
			wrapped, found = reflect.TypeOf(tt.wrapper).Field(0).Type.FieldByName("orig")
		}
		require.True(t, found, name)
		size := wrapped.Type.Elem()
		if size.Kind() == reflect.Slice {
			size = size.Elem()
		}
		assert.GreaterOrEqual(t, tt.want, size.Size(), name)
		if unsafe.Sizeof(uintptr(0)) == PointerSize {
			assert.LessOrEqual(t, tt.want, size.Size()+16, name)
		}
	}
}
