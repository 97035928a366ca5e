// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profiletest

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"
	"go.opentelemetry.io/collector/pdata/xpdata/entity"
)

// HostileMessages returns messages in protobuf that are small on the wire and large in memory, or that have their memory in one
// place only, each for a different reason. n is the number of things of each, such as samples.
func HostileMessages(tb testing.TB, n int) map[string][]byte {
	tb.Helper()
	messages := map[string][]byte{}
	for name, fill := range hostile {
		pd := pprofile.NewProfiles()
		fill(pd, pd.ResourceProfiles().AppendEmpty().ScopeProfiles().AppendEmpty().Profiles().AppendEmpty(), n)
		message, err := (&pprofile.ProtoMarshaler{}).MarshalProfiles(pd)
		require.NoError(tb, err)
		messages[name] = message
	}
	return messages
}

// hostile fills the messages.
var hostile = map[string]func(pd pprofile.Profiles, profile pprofile.Profile, n int){
	"samples": func(_ pprofile.Profiles, profile pprofile.Profile, n int) {
		for range n {
			profile.Samples().AppendEmpty()
		}
	},
	"samples with an attribute": func(_ pprofile.Profiles, profile pprofile.Profile, n int) {
		for range n {
			profile.Samples().AppendEmpty().AttributeIndices().Append(1)
		}
	},
	"values": func(_ pprofile.Profiles, profile pprofile.Profile, n int) {
		profile.Samples().AppendEmpty().Values().FromRaw(make([]int64, n))
	},
	"samples with a value": func(_ pprofile.Profiles, profile pprofile.Profile, n int) {
		for range n {
			profile.Samples().AppendEmpty().Values().Append(0)
		}
	},
	"timestamps": func(_ pprofile.Profiles, profile pprofile.Profile, n int) {
		profile.Samples().AppendEmpty().TimestampsUnixNano().FromRaw(make([]uint64, n))
	},
	"attributes of a profile": func(_ pprofile.Profiles, profile pprofile.Profile, n int) {
		profile.AttributeIndices().FromRaw(make([]int32, n))
	},
	"original payload": func(_ pprofile.Profiles, profile pprofile.Profile, n int) {
		profile.OriginalPayload().FromRaw(make([]byte, 8*n))
	},
	"lines": func(pd pprofile.Profiles, _ pprofile.Profile, n int) {
		lines := pd.Dictionary().LocationTable().AppendEmpty().Lines()
		for range n {
			lines.AppendEmpty()
		}
	},
	"locations": func(pd pprofile.Profiles, _ pprofile.Profile, n int) {
		for range n {
			pd.Dictionary().LocationTable().AppendEmpty().Lines().AppendEmpty()
		}
	},
	"one stack": func(pd pprofile.Profiles, _ pprofile.Profile, n int) {
		pd.Dictionary().StackTable().AppendEmpty().LocationIndices().FromRaw(make([]int32, n))
	},
	"entries of tables": func(pd pprofile.Profiles, _ pprofile.Profile, n int) {
		for range n {
			pd.Dictionary().MappingTable().AppendEmpty()
			pd.Dictionary().FunctionTable().AppendEmpty()
			pd.Dictionary().AttributeTable().AppendEmpty()
			pd.Dictionary().StackTable().AppendEmpty()
			pd.Dictionary().LinkTable().AppendEmpty()
			pd.Dictionary().StringTable().Append("")
		}
	},
	"a long string": func(pd pprofile.Profiles, _ pprofile.Profile, n int) {
		pd.Dictionary().StringTable().Append(strings.Repeat("a", 8*n))
	},
	"values of attributes": func(pd pprofile.Profiles, _ pprofile.Profile, n int) {
		for range n {
			pd.Dictionary().AttributeTable().AppendEmpty().Value().SetStr("a short text")
		}
	},
	"a long value": func(pd pprofile.Profiles, _ pprofile.Profile, n int) {
		pd.Dictionary().AttributeTable().AppendEmpty().Value().SetStr(strings.Repeat("a", 4*n))
		pd.Dictionary().AttributeTable().AppendEmpty().Value().SetEmptyBytes().FromRaw(make([]byte, 4*n))
	},
	"nested values": func(pd pprofile.Profiles, _ pprofile.Profile, n int) {
		nestLists(pd.Dictionary().AttributeTable().AppendEmpty().Value().SetEmptySlice(), n)
	},
	"nested attributes of a resource": func(pd pprofile.Profiles, _ pprofile.Profile, n int) {
		nestLists(pd.ResourceProfiles().At(0).Resource().Attributes().PutEmptySlice("list"), n)
	},
	"attributes of a scope": func(pd pprofile.Profiles, _ pprofile.Profile, n int) {
		attributes := pd.ResourceProfiles().At(0).ScopeProfiles().At(0).Scope().Attributes()
		for range n / 50 {
			attributes.PutEmptyMap(strings.Repeat("k", 1+attributes.Len()))
		}
	},
	"entities": func(pd pprofile.Profiles, _ pprofile.Profile, n int) {
		entities := entity.ResourceEntityRefs(pd.ResourceProfiles().At(0).Resource())
		for range n {
			entities.AppendEmpty().IdKeys().Append("")
		}
		entities.AppendEmpty().DescriptionKeys().FromRaw(make([]string, n))
	},
	"profiles": func(pd pprofile.Profiles, _ pprofile.Profile, n int) {
		for range n {
			pd.ResourceProfiles().AppendEmpty().ScopeProfiles().AppendEmpty().Profiles().AppendEmpty()
		}
	},
}

func nestLists(list pcommon.Slice, n int) {
	for range n {
		list.AppendEmpty().SetEmptyMap().PutEmptySlice("").AppendEmpty().SetBool(true)
	}
}
