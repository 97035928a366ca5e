// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profiletest

import (
	"fmt"
	"strings"

	"go.opentelemetry.io/collector/pdata/pprofile"
)

// DiffOption says what a comparison passes over.
type DiffOption func(*diffOptions)

type diffOptions struct {
	profileID, sampleShape, profileOrder bool
}

// IgnoreProfileID passes over the profiles' ids.
func IgnoreProfileID() DiffOption { return func(o *diffOptions) { o.profileID = true } }

// IgnoreSampleShape compares the totals of samples: values are summed, a timestamp without value counts as 1, and the
// timestamps themselves are passed over.
func IgnoreSampleShape() DiffOption { return func(o *diffOptions) { o.sampleShape = true } }

// IgnoreProfileOrder passes over the order of the profiles of one scope.
func IgnoreProfileOrder() DiffOption { return func(o *diffOptions) { o.profileOrder = true } }

// Diff compares two messages by meaning and returns "" when they are the same, else a line for each difference, the
// first 30 of them.
//
// Every index is resolved. Equal resources, and equal scopes of one resource, count as one; their order, that of the
// samples and that of attributes does not count. Samples of one profile with equal stack, attributes and link are
// combined first: values without timestamps are summed, those with timestamps are gathered and ordered by time.
// The order of profiles in a scope does count, the first is the one that is shown. Entries that no profile reaches,
// scopes without profiles and dropped_attributes_count of resources and scopes are left out. An index that does not
// exist equals the same index in the other message.
func Diff(a, b pprofile.Profiles, options ...DiffOption) string {
	comparison := &comparison{ids: newIdentities()}
	for _, option := range options {
		option(&comparison.options)
	}
	flatA, flatB := comparison.flatten(a), comparison.flatten(b)
	for _, identity := range flatA.order {
		comparison.scopes(flatA.scopes[identity], flatB.scopes[identity])
	}
	for _, identity := range flatB.order {
		if flatA.scopes[identity] == nil {
			comparison.add("+ %s with %d profiles", flatB.scopes[identity].name, len(flatB.scopes[identity].profiles))
		}
	}
	return comparison.text()
}

// comparison is one run of Diff.
type comparison struct {
	differences
	options diffOptions
	ids     *identities
}

// scopes compares the profiles of one resource and scope. Profiles with equal fields belong together, the others are
// paired in order, so that the text can say which field differs.
func (c *comparison) scopes(a, b *flatScope) {
	if b == nil {
		c.add("- %s with %d profiles", a.name, len(a.profiles))
		return
	}
	partner := pairProfiles(a.profiles, b.profiles)
	ordered := true
	taken := make([]bool, len(b.profiles))
	for i, j := range partner {
		where := fmt.Sprintf("%s profile %d: ", a.name, i)
		if j < 0 {
			c.add("- %s%s", where, a.profiles[i].describe())
			continue
		}
		taken[j] = true
		ordered = ordered && i == j
		c.profiles(where, a.profiles[i], b.profiles[j])
	}
	for j, p := range b.profiles {
		if !taken[j] {
			c.add("+ %s profile %d: %s", b.name, j, p.describe())
		}
	}
	if !ordered && !c.options.profileOrder {
		c.add("%s: the profiles stand in another order: %v", a.name, partner)
	}
}

// pairProfiles returns for each profile of a the index of its partner in b, or -1.
func pairProfiles(a, b []*flatProfile) []int {
	waiting := map[profileFields][]int{}
	for j, p := range b {
		waiting[p.fields] = append(waiting[p.fields], j)
	}
	partner := make([]int, len(a))
	for i, p := range a {
		partner[i] = -1
		if candidates := waiting[p.fields]; len(candidates) > 0 {
			partner[i], waiting[p.fields] = candidates[0], candidates[1:]
		}
	}
	var rest []int
	for j, p := range b {
		if left := waiting[p.fields]; len(left) > 0 && left[0] == j {
			waiting[p.fields] = left[1:]
			rest = append(rest, j)
		}
	}
	for i := range partner {
		if partner[i] < 0 && len(rest) > 0 {
			partner[i], rest = rest[0], rest[1:]
		}
	}
	return partner
}

func (c *comparison) profiles(where string, a, b *flatProfile) {
	f, g := a.fields, b.fields
	field(&c.differences, where, "profile_id", f.ID, g.ID)
	field(&c.differences, where, "sample_type", f.SampleType, g.SampleType)
	field(&c.differences, where, "period_type", f.PeriodType, g.PeriodType)
	field(&c.differences, where, "period", f.Period, g.Period)
	field(&c.differences, where, "time_unix_nano", f.Time, g.Time)
	field(&c.differences, where, "duration_nano", f.Duration, g.Duration)
	field(&c.differences, where, "dropped_attributes_count", f.Dropped, g.Dropped)
	field(&c.differences, where, "original_payload_format", f.PayloadFormat, g.PayloadFormat)
	field(&c.differences, where, "original_payload", f.Payload, g.Payload)
	if f.AttributeSet != g.AttributeSet {
		c.add("%sattributes: - %s + %s", where, a.attributes, b.attributes)
	}
	for _, identity := range a.order {
		s, other := a.samples[identity], b.samples[identity]
		switch {
		case other == nil:
			c.add("- %ssample %s", where, s.describe())
		case !s.equal(other):
			c.add("%ssample %s: - %s + %s", where, s.describe(), s.data(), other.data())
		}
	}
	for _, identity := range b.order {
		if a.samples[identity] == nil {
			c.add("+ %ssample %s", where, b.samples[identity].describe())
		}
	}
}

// maxDifferences bounds the text that a comparison returns.
const maxDifferences = 30

// differences collects the lines of a comparison: "-" stands for what only the first has, "+" for the second.
type differences struct {
	lines   []string
	unnamed int
}

func (d *differences) add(format string, args ...any) {
	if len(d.lines) == maxDifferences {
		d.unnamed++
		return
	}
	d.lines = append(d.lines, fmt.Sprintf(format, args...))
}

// field adds a line when a field has two values.
func field[T comparable](d *differences, where, name string, a, b T) {
	if a != b {
		d.add("%s%s: - %s + %s", where, name, shown(a), shown(b))
	}
}

// shown cuts what would fill the screen.
func shown(v any) string {
	const most = 400
	text := fmt.Sprintf("%+v", v)
	if s, ok := v.(string); ok {
		text = fmt.Sprintf("%q", s)
	}
	if len(text) > most {
		return fmt.Sprintf("%s... (%d bytes)", text[:most], len(text))
	}
	return text
}

func (d *differences) text() string {
	if d.unnamed > 0 {
		d.lines = append(d.lines, fmt.Sprintf("and %d more differences", d.unnamed))
	}
	return strings.Join(d.lines, "\n")
}
