// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profiletest

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.opentelemetry.io/collector/pdata/pprofile"
)

// flatMessage is a message without indices: its profiles by resource and scope.
type flatMessage struct {
	scopes map[string]*flatScope
	order  []string
}

type flatScope struct {
	name     string
	profiles []*flatProfile
}

type flatProfile struct {
	fields profileFields
	// attributes is the text of the attributes. Equal ones may read differently, such as maps in another order.
	attributes string

	samples map[string]*flatSample
	order   []string
}

// profileFields is all of a profile but its samples. AttributeSet is the identity of its attributes.
type profileFields struct {
	ID                     string
	SampleType, PeriodType string
	Period                 int64
	Time, Duration         uint64
	Dropped                uint32
	PayloadFormat, Payload string
	AttributeSet           string
}

// flatSample is all samples of one identity.
type flatSample struct {
	first  pprofile.Sample
	dict   pprofile.ProfilesDictionary
	total  int64
	events []event
}

// event is one observation with a timestamp. Without a value, value is 0.
type event struct {
	Timestamp uint64
	Value     int64
}

func (c *comparison) flatten(pd pprofile.Profiles) flatMessage {
	flat := flatMessage{scopes: map[string]*flatScope{}}
	dict := pd.Dictionary()
	t := c.ids.resolve(dict)
	for _, rp := range pd.ResourceProfiles().All() {
		resource := string(appendString(nil, resourceIdentity(rp)))
		for _, sp := range rp.ScopeProfiles().All() {
			if sp.Profiles().Len() == 0 {
				continue
			}
			identity := resource + scopeIdentity(sp)
			scope := flat.scopes[identity]
			if scope == nil {
				scope = &flatScope{name: fmt.Sprintf("resource %v scope %s@%s %v",
					rp.Resource().Attributes().AsRaw(), sp.Scope().Name(), sp.Scope().Version(), sp.Scope().Attributes().AsRaw())}
				flat.scopes[identity] = scope
				flat.order = append(flat.order, identity)
			}
			for _, p := range sp.Profiles().All() {
				scope.profiles = append(scope.profiles, c.profile(dict, t, p))
			}
		}
	}
	return flat
}

func (c *comparison) profile(dict pprofile.ProfilesDictionary, t *tables, p pprofile.Profile) *flatProfile {
	flat := &flatProfile{samples: map[string]*flatSample{}, attributes: describeAttributes(dict, p.AttributeIndices())}
	flat.fields = profileFields{
		SampleType: describeValueType(dict, p.SampleType()), PeriodType: describeValueType(dict, p.PeriodType()),
		Period: p.Period(), Time: uint64(p.Time()), Duration: p.DurationNano(), Dropped: p.DroppedAttributesCount(),
		PayloadFormat: p.OriginalPayloadFormat(), Payload: string(p.OriginalPayload().AsRaw()),
		AttributeSet: string(appendNumbers(nil, attributeSet(t, p.AttributeIndices())...)),
	}
	if !c.options.profileID {
		flat.fields.ID = p.ProfileID().String()
	}
	for _, s := range p.Samples().All() {
		identity := sampleIdentity(t, s, !c.options.sampleShape)
		sample := flat.samples[identity]
		if sample == nil {
			sample = &flatSample{first: s, dict: dict}
			flat.samples[identity] = sample
			flat.order = append(flat.order, identity)
		}
		sample.add(s, c.options.sampleShape)
	}
	for _, s := range flat.samples {
		slices.SortFunc(s.events, func(a, b event) int {
			return cmp.Or(cmp.Compare(a.Timestamp, b.Timestamp), cmp.Compare(a.Value, b.Value))
		})
	}
	return flat
}

// add combines another sample into this one, which is of the same identity.
func (f *flatSample) add(s pprofile.Sample, totals bool) {
	values, timestamps := s.Values(), s.TimestampsUnixNano()
	if totals && values.Len() == 0 {
		f.total += int64(timestamps.Len())
		return
	}
	if totals || timestamps.Len() == 0 {
		for _, value := range values.All() {
			f.total += value
		}
		return
	}
	for i, timestamp := range timestamps.All() {
		e := event{Timestamp: timestamp}
		if i < values.Len() {
			e.Value = values.At(i)
		}
		f.events = append(f.events, e)
	}
	for i := timestamps.Len(); i < values.Len(); i++ {
		f.events = append(f.events, event{Value: values.At(i)})
	}
}

func (f *flatSample) equal(other *flatSample) bool {
	return f.total == other.total && slices.Equal(f.events, other.events)
}

func (f *flatSample) data() string {
	if len(f.events) > 0 {
		return shown(f.events)
	}
	return strconv.FormatInt(f.total, 10)
}

func (f *flatSample) describe() string {
	var text strings.Builder
	describeStack(&text, f.dict, f.first.StackIndex())
	fmt.Fprintf(&text, " %s", describeAttributes(f.dict, f.first.AttributeIndices()))
	fmt.Fprintf(&text, "%s %s", describeLink(f.dict, f.first.LinkIndex()), f.data())
	return text.String()
}
