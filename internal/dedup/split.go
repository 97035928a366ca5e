// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package dedup

import (
	"encoding/binary"
	"fmt"

	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/dictionary"
)

// SplitLimits bound the parts of a message; 0 is no limit.
type SplitLimits struct {
	// MaxSamples is a number of samples, MaxBytes of bytes of protobuf.
	MaxSamples, MaxBytes int
}

// Part is a message that was made of a larger one.
type Part struct {
	Profiles pprofile.Profiles
	// First and Last are the first and the last profile of the larger message, counted through it, of which it has some.
	First, Last int
}

// What parts have in common is repeated in each. All parts together may repeat so many times what the message holds,
// and so many bytes more for each part, whatever that shares: its resource, the types of its samples. When they have, a
// part ends when it repeats at most so many times what is new in it.
const (
	repeatedShare     = 6
	repeatedBytes     = 4 << 10
	repeatedPartShare = 2
)

// Split parts pd within limits and hands the parts to take, each with only the entries that it needs. One is made at a
// time. pd must come from Deduplicate; unless it is the only part, its content is moved and it must not be used any more.
//
// A profile stays whole if it fits in a part of its own: then the next part begins with it. A profile whose samples are
// parted keeps its id and its original payload in the first part, and gets ids made of it in the others.
//
// A part stays above MaxBytes where one sample needs more, see [CheckSplit]. Parts stay above both limits, too, once they
// have repeated six times what the message holds: then each has a third of its content for itself. Together they are
// never larger than eight times the message and 4 KiB for each part. The cost is linear in that.
func Split(pd pprofile.Profiles, limits SplitLimits, take func(Part)) {
	if Fits(pd, limits) {
		take(Part{Profiles: pd, Last: max(pd.ProfileCount()-1, 0)})
		return
	}
	s := newSplitter(pd, limits)
	s.take = take
	_ = s.run()
}

// TooLargeError tells of a sample that no part can hold.
type TooLargeError struct {
	// Profile is counted through the message.
	Profile, Sample int
	Bytes, Limit    int
}

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("sample %d of profile %d needs a message of %d bytes, at most %d are allowed", e.Sample, e.Profile, e.Bytes, e.Limit)
}

// CheckSplit returns a *[TooLargeError] if Split would leave a part above maxBytes because of one sample. pd need not be
// canonical, and is only read.
func CheckSplit(pd pprofile.Profiles, maxBytes int) error {
	limits := SplitLimits{MaxBytes: maxBytes}
	if Fits(pd, limits) {
		return nil
	}
	return newSplitter(pd, limits).run()
}

// Fits tells whether a message is within limits as it is.
func Fits(pd pprofile.Profiles, limits SplitLimits) bool {
	return (limits.MaxSamples <= 0 || pd.SampleCount() <= limits.MaxSamples) &&
		(limits.MaxBytes <= 0 || (&pprofile.ProtoMarshaler{}).ProfilesSize(pd) <= limits.MaxBytes)
}

// splitter adds samples to a part until that is full. A profile without samples counts as one sample.
type splitter struct {
	*selection
	pd     pprofile.Profiles
	limits SplitLimits
	// take is nil if the parts are only to be checked.
	take func(Part)

	// resource, scope and profile are those of the next sample.
	resource, scope, profile container
	// start is the state before the profile.
	start start
	// pieces are what the part at hand has of profiles, partBytes and partFresh what was counted before it.
	pieces               []piece
	samples              int
	partBytes, partFresh int
	parts                int
	// emptyBytes is the size of a part that holds nothing.
	emptyBytes int
}

// container is a resource, a scope or a profile, without what it contains.
type container struct {
	// bytes is its size, againBytes that in all parts but the first.
	bytes, againBytes int
	inPart, hadBefore bool
}

// start is where a part ends that does not take the next profile.
type start struct {
	mark

	pieces, samples int
	resource, scope container
}

// piece is the samples from begin to end-1 of a profile.
type piece struct {
	resource, scope, profile int
	// number is that of the profile, counted through the message.
	number     int
	begin, end int
}

func newSplitter(pd pprofile.Profiles, limits SplitLimits) *splitter {
	s := &splitter{selection: newSelection(pd.Dictionary()), pd: pd, limits: limits}
	empty := pprofile.NewProfiles()
	nothing := newSelection(empty.Dictionary())
	nothing.write(empty.Dictionary())
	sizes := pprofile.ProtoMarshaler{}
	// The dictionary is written with its length.
	all := sizes.ProfilesSize(pd)
	s.emptyBytes = sizes.ProfilesSize(empty) + dictionary.FieldBytes(all) - 1 - all
	s.begin()
	return s
}

func (s *splitter) run() error {
	number := 0
	sizes := pprofile.ProtoMarshaler{}
	for r, resource := range s.pd.ResourceProfiles().All() {
		s.resource = containerOf(sizes.ResourceProfilesSize(resource))
		for _, scope := range resource.ScopeProfiles().All() {
			s.resource.without(dictionary.FieldBytes(sizes.ScopeProfilesSize(scope)))
		}
		for c, scope := range resource.ScopeProfiles().All() {
			s.scope = containerOf(sizes.ScopeProfilesSize(scope))
			for _, profile := range scope.Profiles().All() {
				s.scope.without(dictionary.FieldBytes(sizes.ProfileSize(profile)))
			}
			for p, profile := range scope.Profiles().All() {
				if err := s.addProfile(profile, piece{resource: r, scope: c, profile: p, number: number}); err != nil {
					return err
				}
				number++
			}
		}
	}
	if len(s.pieces) > 0 {
		s.end()
	}
	return nil
}

func containerOf(size int) container {
	return container{bytes: dictionary.FieldBytes(size), againBytes: dictionary.FieldBytes(size)}
}

func (c *container) without(bytes int) {
	c.bytes -= bytes
	c.againBytes -= bytes
}

func (s *splitter) addProfile(profile pprofile.Profile, at piece) error {
	s.profile = containerOf((&pprofile.ProtoMarshaler{}).ProfileSize(profile))
	samples := profile.Samples()
	for k := range samples.Len() {
		s.profile.without(dictionary.FieldBytes(dictionary.SampleBytes(samples.At(k))))
	}
	for _, bytes := range [...]int{len(profile.OriginalPayloadFormat()), profile.OriginalPayload().Len()} {
		if bytes > 0 {
			s.profile.againBytes -= dictionary.FieldBytes(bytes)
		}
	}
	if samples.Len() == 0 {
		return s.addNext(profile, at)
	}
	s.start = start{mark: s.mark(), pieces: len(s.pieces), samples: s.samples, resource: s.resource, scope: s.scope}
	for k := 0; k < samples.Len(); k++ {
		at.begin, at.end = k, k+1
		if err := s.addNext(profile, at); err != nil {
			return err
		}
		if len(s.pieces) == 0 {
			k = -1 // the part has ended before the profile
		}
	}
	return nil
}

// addNext adds a sample to the part at hand, or to the next one. If that part is to begin with the whole profile, it is
// empty afterwards.
func (s *splitter) addNext(profile pprofile.Profile, at piece) error {
	before := s.mark()
	s.addAt(profile, at)
	if len(s.pieces) > 0 && s.isAbove(at.end-at.begin) {
		switch {
		case at.begin > 0 && s.pieces[0].number != at.number && s.mayRepeat(s.start.mark):
			s.leaveProfile()
			s.end()
			s.begin()
			return nil
		case s.mayRepeat(before):
			s.goBack(before)
			s.end()
			s.begin()
			s.addAt(profile, at)
		}
	}
	bytes := s.bytes - s.partBytes
	if len(s.pieces) == 0 && s.take == nil && s.limits.MaxBytes > 0 && bytes > s.limits.MaxBytes {
		return &TooLargeError{Profile: at.number, Sample: at.begin, Bytes: bytes, Limit: s.limits.MaxBytes}
	}
	for _, c := range s.containers() {
		c.inPart = true
	}
	s.samples += at.end - at.begin
	if last := len(s.pieces) - 1; last >= 0 && s.pieces[last].number == at.number {
		s.pieces[last].end = at.end
	} else {
		s.pieces = append(s.pieces, at)
	}
	return nil
}

// leaveProfile takes the samples of the profile out of the part at hand.
func (s *splitter) leaveProfile() {
	s.goBack(s.start.mark)
	s.pieces, s.samples = s.pieces[:s.start.pieces], s.start.samples
	s.resource, s.scope, s.profile.inPart = s.start.resource, s.start.scope, false
}

func (s *splitter) containers() [3]*container {
	return [...]*container{&s.resource, &s.scope, &s.profile}
}

// addAt counts what a sample adds to the part at hand.
func (s *splitter) addAt(profile pprofile.Profile, at piece) {
	if !s.profile.inPart {
		s.choose.Header(profile)
	}
	for _, c := range s.containers() {
		switch {
		case c.inPart:
		case c.hadBefore:
			s.add(c.againBytes, false)
		default:
			s.add(c.bytes, true)
		}
	}
	if at.end > at.begin {
		sample := profile.Samples().At(at.begin)
		s.choose.Sample(sample)
		s.add(dictionary.FieldBytes(dictionary.SampleBytes(sample)), true)
	}
}

// isAbove tells whether the part is above a limit with so many samples more.
func (s *splitter) isAbove(samples int) bool {
	return s.limits.MaxSamples > 0 && s.samples+samples > s.limits.MaxSamples ||
		s.limits.MaxBytes > 0 && s.bytes-s.partBytes > s.limits.MaxBytes
}

// mayRepeat tells whether the part at hand may end and another one repeat what it has.
func (s *splitter) mayRepeat(at mark) bool {
	part, fresh := at.bytes-s.partBytes, at.fresh-s.partFresh
	return at.bytes-at.fresh <= repeatedShare*at.fresh+repeatedBytes*s.parts ||
		part-fresh <= repeatedPartShare*fresh
}

func (s *splitter) begin() {
	s.parts++
	s.partBytes, s.partFresh = s.bytes, s.fresh
	s.add(s.emptyBytes, s.parts == 1)
}

// end hands on the part at hand.
func (s *splitter) end() {
	if s.take != nil {
		part := s.build()
		s.take(Part{Profiles: part, First: s.pieces[0].number, Last: s.pieces[len(s.pieces)-1].number})
	}
	s.next()
	for _, c := range s.containers() {
		c.inPart, c.hadBefore = false, c.inPart || c.hadBefore
	}
	s.pieces, s.samples = s.pieces[:0], 0
}

// build makes a message of the pieces.
func (s *splitter) build() pprofile.Profiles {
	part := pprofile.NewProfiles()
	s.write(part.Dictionary())
	var toResource pprofile.ResourceProfiles
	var toScope pprofile.ScopeProfiles
	last := piece{resource: -1}
	for _, at := range s.pieces {
		resource := s.pd.ResourceProfiles().At(at.resource)
		scope := resource.ScopeProfiles().At(at.scope)
		if at.resource != last.resource {
			toResource = part.ResourceProfiles().AppendEmpty()
			resource.Resource().CopyTo(toResource.Resource())
			toResource.SetSchemaUrl(resource.SchemaUrl())
		}
		if at.resource != last.resource || at.scope != last.scope {
			toScope = toResource.ScopeProfiles().AppendEmpty()
			scope.Scope().CopyTo(toScope.Scope())
			toScope.SetSchemaUrl(scope.SchemaUrl())
		}
		s.movePiece(toScope.Profiles().AppendEmpty(), scope.Profiles().At(at.profile), at)
		last = at
	}
	return part
}

// movePiece moves the samples of a piece.
func (s *splitter) movePiece(to, profile pprofile.Profile, at piece) {
	copyHeader(to, profile)
	s.rename.Header(to)
	id := profile.ProfileID()
	if at.begin > 0 {
		id = deriveID(id, binary.BigEndian.AppendUint64(nil, uint64(at.begin)))
	} else {
		to.SetOriginalPayloadFormat(profile.OriginalPayloadFormat())
		profile.OriginalPayload().MoveTo(to.OriginalPayload())
	}
	to.SetProfileID(id)
	to.Samples().EnsureCapacity(at.end - at.begin)
	for i := at.begin; i < at.end; i++ {
		sample := to.Samples().AppendEmpty()
		profile.Samples().At(i).MoveTo(sample)
		s.rename.Sample(sample)
	}
}

// copyHeader copies all but the samples, the id and the original payload.
func copyHeader(to, profile pprofile.Profile) {
	profile.SampleType().CopyTo(to.SampleType())
	profile.PeriodType().CopyTo(to.PeriodType())
	to.SetPeriod(profile.Period())
	to.SetTime(profile.Time())
	to.SetDurationNano(profile.DurationNano())
	to.SetDroppedAttributesCount(profile.DroppedAttributesCount())
	profile.AttributeIndices().CopyTo(to.AttributeIndices())
}
