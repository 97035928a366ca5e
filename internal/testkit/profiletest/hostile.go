// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profiletest

import (
	"runtime/debug"
	"strings"
	"testing"
	"time"

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

// Nest makes of v lists and maps in turn, this many within one another, with a text in the innermost, and returns v.
func Nest(v pcommon.Value, levels int) pcommon.Value {
	inner := v
	for i := range levels {
		if i%2 == 0 {
			inner = inner.SetEmptySlice().AppendEmpty()
		} else {
			inner = inner.SetEmptyMap().PutEmpty("k")
		}
	}
	inner.SetStr("innermost")
	return v
}

// DeepPlaces are where an attribute of a message can stand, see [Deepen].
func DeepPlaces() []string {
	return []string{"resource", "scope", "profile", "sample", "location", "mapping"}
}

// Deepen gives the first resource of a message, its first scope or profile, or what the first sample of that refers to, an
// attribute "deep" of that many levels. The dictionary must have its zero entries.
func Deepen(pd pprofile.Profiles, place string, levels int) {
	d := pd.Dictionary()
	resource := pd.ResourceProfiles().At(0)
	profile := resource.ScopeProfiles().At(0).Profiles().At(0)
	var list pcommon.Int32Slice
	switch place {
	case "resource":
		Nest(resource.Resource().Attributes().PutEmpty("deep"), levels)
		return
	case "scope":
		Nest(resource.ScopeProfiles().At(0).Scope().Attributes().PutEmpty("deep"), levels)
		return
	case "profile":
		list = profile.AttributeIndices()
	case "sample":
		list = profile.Samples().At(0).AttributeIndices()
	default:
		location := d.LocationTable().AppendEmpty()
		location.SetAddress(1)
		list = location.AttributeIndices()
		if place == "mapping" {
			location.SetMappingIndex(int32(d.MappingTable().Len()))
			list = d.MappingTable().AppendEmpty().AttributeIndices()
		}
		profile.Samples().At(0).SetStackIndex(int32(d.StackTable().Len()))
		d.StackTable().AppendEmpty().LocationIndices().Append(int32(d.LocationTable().Len() - 1))
	}
	list.Append(int32(d.AttributeTable().Len()))
	attribute := d.AttributeTable().AppendEmpty()
	attribute.SetKeyStrindex(int32(d.StringTable().Len()))
	d.StringTable().Append("deep")
	Nest(attribute.Value(), levels)
}

// LimitStack bounds the stack until the test ends: what exceeds it ends the process, as a value that is deep enough does
// under the limit of Go, of 1 GB.
func LimitStack(tb testing.TB, bytes int) {
	tb.Helper()
	before := debug.SetMaxStack(bytes)
	tb.Cleanup(func() { debug.SetMaxStack(before) })
}

// Linear work takes eight times as much time for eight times the length, quadratic work 64 times as much.
const (
	shortText = 8 << 10
	lengthen  = 8
	maxRatio  = 12
	// leastTime is the least time that counts for as many short texts as fit into a long one. Texts that are refused early take less
	// than the clock can compare.
	leastTime = 40 * time.Microsecond
	// runs is the number of comparisons at most. A busy machine disturbs some of them.
	runs = 10
)

// CheckLinear checks that the time of read grows linearly with its text. The texts begin with head and end with tail. Between them is a
// token that is repeated, then another one that is repeated, for all pairs of tokens. read may refuse a text.
func CheckLinear(tb testing.TB, head, tail string, tokens []string, read func(text []byte)) {
	tb.Helper()
	for _, first := range tokens {
		for _, second := range tokens {
			text := func(length int) []byte {
				return []byte(head + repeat(first, length/2) + repeat(second, length/2) + tail)
			}
			// A processor can do with a short text what it cannot do with a longer one, so that counts only if it is repeated.
			ratio := costRatio(text(shortText), text(lengthen*shortText), read)
			if ratio > maxRatio {
				ratio = costRatio(text(lengthen*shortText), text(lengthen*lengthen*shortText), read)
			}
			if ratio > maxRatio {
				tb.Fatalf("%d times the text takes %.1f times as long: %.80q, then repeated %q and %q, then %.80q", lengthen, ratio, head, first, second, tail)
			}
		}
	}
}

func repeat(token string, length int) string { return strings.Repeat(token, length/len(token)) }

// costRatio returns how many times as long read takes for the long text. It compares the shortest CPU times, and measures again as long
// as the ratio is too high.
func costRatio(short, long []byte, read func(text []byte)) (ratio float64) {
	fastShort, fastLong := time.Hour, time.Hour
	for range runs {
		// Both times are for the same number of bytes, so that a busy machine disturbs both.
		fastShort = min(fastShort, CPUTime(func() {
			for range lengthen {
				read(short)
			}
		}))
		fastLong = min(fastLong, CPUTime(func() { read(long) }))
		if ratio = lengthen * float64(fastLong) / float64(max(fastShort, leastTime)); ratio <= maxRatio {
			break
		}
	}
	return ratio
}
