// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprof

import (
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/dictionary"
	"github.com/otelpprof/otelpprof/internal/scratch"
	"github.com/otelpprof/otelpprof/translator/internal/message"
	"github.com/otelpprof/otelpprof/translator/internal/semconv"
)

// addProfiles adds the resource, the scope and, for each sample type, a profile without samples.
func (t *decoding) addProfiles(pd pprofile.Profiles, payload []byte) {
	w := &t.wire
	scope, ids := message.AddScope(pd, t.src.Resource, t.src.ScopeName, t.src.ScopeVersion, payload)
	t.describeScope(scope.Scope())

	profiles := scope.Profiles()
	profiles.EnsureCapacity(len(t.order))
	common := t.commonAttributes()
	t.slices = scratch.Zeroed(t.slices, len(t.types))
	for position, original := range t.order {
		profile, typ := profiles.AppendEmpty(), t.types[original]
		profile.SetProfileID(ids.Next(typ.Type, typ.Unit))
		profile.SampleType().SetTypeStrindex(t.dict.String(typ.Type))
		profile.SampleType().SetUnitStrindex(t.dict.String(typ.Unit))
		if w.HasPeriodType {
			profile.PeriodType().SetTypeStrindex(t.tables.String(w.PeriodType.Type))
			profile.PeriodType().SetUnitStrindex(t.tables.String(w.PeriodType.Unit))
		}
		profile.SetPeriod(w.Period)
		profile.SetTime(pcommon.Timestamp(max(w.TimeNanos, 0)))
		profile.SetDurationNano(uint64(max(w.DurationNanos, 0)))
		t.attributes = append(t.attributes[:0], common...)
		if position == 0 {
			t.addComments()
		}
		if t.attributes = dictionary.SortSet(t.attributes, 0); len(t.attributes) > 0 {
			profile.AttributeIndices().FromRaw(t.attributes)
		}
		if t.opts.IncludeOriginalPayload {
			profile.SetOriginalPayloadFormat(semconv.OriginalPayloadFormat)
			profile.OriginalPayload().FromRaw(payload)
		}
		t.slices[original] = profile.Samples()
		t.slices[original].EnsureCapacity(t.counts[original])
	}
}

func (t *decoding) describeScope(scope pcommon.InstrumentationScope) {
	if len(t.order) > 1 {
		order := scope.Attributes().PutEmptySlice(semconv.ScopeSampleTypeOrder)
		order.EnsureCapacity(len(t.order))
		for _, original := range t.order {
			order.AppendEmpty().SetInt(int64(original))
		}
	}
	if name := t.name(t.wire.DefaultSampleType); name != "" {
		scope.Attributes().PutStr(semconv.ScopeDefaultSampleType, name)
	}
	if t.labels.threads {
		scope.Attributes().PutBool(semconv.ScopeThreadLabels, true)
	}
}

// commonAttributes returns the attributes that all profiles of the payload share.
func (t *decoding) commonAttributes() []int32 {
	w := &t.wire
	var common []int32
	common = t.appendText(common, semconv.ProfileDropFrames, w.DropFrames)
	common = t.appendText(common, semconv.ProfileKeepFrames, w.KeepFrames)
	common = t.appendText(common, semconv.ProfileDocURL, w.DocURL)
	common = t.appendMainMapping(common)
	if t.src.ProfileName != "" {
		common = append(common, t.dict.StringAttribute(t.dict.String(semconv.ProfileName), t.src.ProfileName))
	}
	return common
}

// appendText appends an attribute with a string of the payload, unless it is unset or empty.
func (t *decoding) appendText(attributes []int32, key string, value uint32) []int32 {
	if value == 0 || len(t.wire.String(value)) == 0 {
		return attributes
	}
	return append(attributes, t.tables.TextAttribute(t.dict.String(key), value))
}

// addComments adds the comments as one attribute: an array of strings.
func (t *decoding) addComments() {
	if len(t.wire.Comments) == 0 {
		return
	}
	comments := pcommon.NewValueSlice()
	comments.Slice().EnsureCapacity(len(t.wire.Comments))
	for _, c := range t.wire.Comments {
		comments.Slice().AppendEmpty().SetStr(t.name(c))
	}
	t.attributes = append(t.attributes, t.dict.Attribute(t.dict.String(semconv.ProfileComment), 0, comments))
}
