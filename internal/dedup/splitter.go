// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package dedup

import (
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/dictionary"
)

// Each part repeats the entries that it has in common with other parts. These constants limit the repeated bytes.
const (
	// All parts together may repeat repeatedShare times the size of the message, and repeatedBytes more for each part: for its
	// resource and sample types.
	repeatedShare = 6
	repeatedBytes = 4 << 10
	// Above that, a part only ends if it repeats at most repeatedPartShare times the bytes that are new in it.
	repeatedPartShare = 2
)

// splitter adds samples to a part until it is full. A profile without samples counts as one sample.
type splitter struct {
	*selection
	pd     pprofile.Profiles
	limits SplitLimits
	// take is nil for CheckSplit, which makes no parts.
	take func(Part)

	// resource, scope and profile contain the next sample.
	resource, scope, profile container
	// capture and start are the states before the current capture and profile.
	capture, start start
	// pieces are the samples of the current part by profile, samples is their number.
	pieces  []piece
	samples int
	// partBytes and partFresh are the bytes and fresh of the selection at the start of the current part.
	partBytes, partFresh int
	// parts is the number of parts so far, including the current one.
	parts int
	// emptyBytes is the size of a part without any content.
	emptyBytes int
}

// container is a resource, a scope or a profile, without what it contains.
type container struct {
	// bytes is its size in the first part that has it, againBytes its size in others, which do not have its original payload.
	bytes, againBytes int
	// inPart is true if the current part has it, hadBefore if an earlier part has it.
	inPart, hadBefore bool
}

// start is the state to return to if a capture or a profile begins the next part. Without pieces, the current part begins with it, or in it.
type start struct {
	mark

	pieces, samples int
	resource, scope container
}

func (s *splitter) here() start {
	return start{mark: s.mark(), pieces: len(s.pieces), samples: s.samples, resource: s.resource, scope: s.scope}
}

// piece has the samples from begin to end-1 of a profile.
type piece struct {
	resource, scope, profile int
	// number is the number of the profile, counted from 0 through the message.
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
			if err := s.addProfiles(scope.Profiles(), piece{resource: r, scope: c, number: number}); err != nil {
				return err
			}
			number += scope.Profiles().Len()
		}
	}
	if len(s.pieces) > 0 {
		s.end()
	}
	return nil
}

// addProfiles adds the profiles of a scope. at is the first of them.
func (s *splitter) addProfiles(profiles pprofile.ProfilesSlice, at piece) error {
	first, number := 0, at.number // first is the first profile of the capture.
	for p := 0; p < profiles.Len(); p++ {
		profile := profiles.At(p)
		if p == 0 || captureOf(profile) != captureOf(profiles.At(first)) {
			first, s.capture = p, s.here()
		}
		at.profile, at.number = p, number+p
		moved, err := s.addProfile(profile, at)
		if err != nil {
			return err
		}
		if moved {
			p = first - 1
		}
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

// addProfile adds a profile. moved reports whether the new part has to begin with the whole capture, and has nothing of it yet.
func (s *splitter) addProfile(profile pprofile.Profile, at piece) (moved bool, err error) {
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
	s.start = s.here()
	for k := 0; k < samples.Len(); k++ {
		at.begin, at.end = k, k+1
		if moved, err := s.addNext(profile, at); moved || err != nil {
			return moved, err
		}
		if len(s.pieces) == 0 {
			k = -1 // the part has ended before the profile
		}
	}
	return false, nil
}

// addNext adds a sample to the current part, or ends that part and adds the sample to the next one. If the next part has to begin with
// the whole profile, addNext adds no sample, and the new part is empty. moved reports the same of the whole capture.
func (s *splitter) addNext(profile pprofile.Profile, at piece) (moved bool, err error) {
	before := s.mark()
	s.addAt(profile, at)
	if len(s.pieces) > 0 && !s.limits.Allow(s.samples+at.end-at.begin, s.bytes-s.partBytes) {
		switch {
		case len(s.pieces) > s.capture.pieces && s.mayMove(s.capture):
			s.move(s.capture)
			return true, nil
		case at.begin > 0 && s.mayMove(s.start):
			s.move(s.start)
			return false, nil
		case s.mayRepeat(before):
			s.rollBack(before)
			s.end()
			s.begin()
			s.addAt(profile, at)
		}
	}
	bytes := s.bytes - s.partBytes
	if len(s.pieces) == 0 && s.take == nil && s.limits.MaxBytes > 0 && bytes > s.limits.MaxBytes {
		return false, &TooLargeError{Profile: at.number, Sample: at.begin, Bytes: bytes, Limit: s.limits.MaxBytes}
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
	return false, nil
}

// mayMove reports whether the current part may end where a capture or a profile began.
func (s *splitter) mayMove(to start) bool { return to.pieces > 0 && s.mayRepeat(to.mark) }

// move ends the current part there, and begins the next one.
func (s *splitter) move(to start) {
	s.rollBack(to.mark)
	s.pieces, s.samples = s.pieces[:to.pieces], to.samples
	s.resource, s.scope, s.profile.inPart = to.resource, to.scope, false
	s.end()
	s.begin()
}

func (s *splitter) containers() [3]*container {
	return [...]*container{&s.resource, &s.scope, &s.profile}
}

// addAt counts the bytes that a sample adds to the current part.
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

// mayRepeat reports whether the current part may end at a mark, so that the next part repeats entries of it.
func (s *splitter) mayRepeat(at mark) bool {
	part, fresh := at.bytes-s.partBytes, at.fresh-s.partFresh
	return at.bytes-at.fresh <= repeatedShare*at.fresh+repeatedBytes*s.parts ||
		part-fresh <= repeatedPartShare*fresh
}

func (s *splitter) begin() {
	s.parts++
	s.partBytes, s.partFresh = s.bytes, s.fresh
	s.capture.pieces, s.start.pieces = 0, 0
	s.add(s.emptyBytes, s.parts == 1)
}

// end passes the current part to take.
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
