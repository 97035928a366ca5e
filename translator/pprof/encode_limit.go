// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprof

import (
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/dictionary"
	"github.com/otelpprof/otelpprof/internal/wire/pprofwire"
)

// maxWaste limits the work on profiles that are refused, in multiples of PprofBytes. Above it, all further profiles of the
// message are refused without trying.
const maxWaste = 2

func (t *encoding) checkWaste() error {
	if limit := t.opts.PprofBytes; t.wasted/maxWaste > limit {
		return pprofwire.TooLarge("bytes of pprofs that are too large", t.wasted, maxWaste*limit)
	}
	return nil
}

// waste adds the work on a profile that is refused. It counts twice once three quarters of the limit are written: then most of what is left of a
// message that has too much is refused.
func (t *encoding) waste(bytes int) {
	if t.written+t.trial > t.opts.PprofBytes/4*3 {
		bytes *= 2
	}
	t.wasted += bytes
}

// work returns the amount of work, in bytes, that was done for a pprof that is not written.
func (t *encoding) work() int {
	j := &t.joining
	bytes := len(j.packed) + 8*len(j.values) + len(t.labels.encoded) + len(t.tail)
	for _, s := range t.locals.strings.list {
		bytes += len(t.dict.StringAt(s))
	}
	return bytes
}

// fits returns an error if a pprof of this many bytes exceeds the limit, together with those that were written.
func (t *encoding) fits(bytes int) error {
	t.checked = max(t.checked, bytes)
	if size := t.written + bytes; size > t.opts.PprofBytes {
		return pprofwire.TooLarge("bytes of the pprofs of a message", size, t.opts.PprofBytes)
	}
	return nil
}

// checkTotal returns an error if each pprof of a resource fits, but not all of them together. So none of them is written. It
// encodes them to find their sizes, up to the limit, unless a rough bound shows that they fit. A pprof that does not fit on
// its own gets its error later, without the others.
func (t *encoding) checkTotal(i int, resource pprofile.ResourceProfiles) (err error) {
	pprofs, ofScope := 0, make([]int, resource.ScopeProfiles().Len())
	for j, scope := range resource.ScopeProfiles().All() {
		ofScope[j] = t.mostPprofs(scope)
		pprofs += ofScope[j]
	}
	if pprofs <= 1 || int64(t.written)+t.mostBytes(resource, ofScope) <= int64(t.opts.PprofBytes) {
		return nil
	}
	if err := t.checkWaste(); err != nil {
		return err
	}
	before, wasted, unused, total := t.written, t.wasted, t.unused, 0
	t.written, t.trial = 0, before
	t.encodeResource(i, resource, func(payload Payload, fault error) bool {
		if fault == nil {
			t.written = before + total
			err = t.fits(max(t.checked, t.needed))
			total += len(payload.Pprof)
			t.trial = before + total
		}
		t.written = 0
		return err == nil
	})
	t.written, t.trial = before, 0
	if err != nil {
		t.waste(total)
		return err
	}
	t.tried.wasted, t.tried.unused = t.wasted, t.unused
	t.wasted, t.unused = wasted, unused // The same work follows.
	return nil
}

const (
	// tableFactor: an entry of a pprof is at most this many times as large as that of the dictionary.
	tableFactor = 4
	// originalFactor: an original payload is rarely this many times as large as its compressed form.
	originalFactor = 16
)

// mostPprofs returns an upper bound of the number of pprofs of a scope. Profiles with the order of their types are usually those of a
// single upload, but the order alone does not say so: they can differ in their times.
func (t *encoding) mostPprofs(scope pprofile.ScopeProfiles) int {
	n := scope.Profiles().Len()
	t.readScope(scope.Scope().Attributes())
	if n <= 1 || !fillOrder(make([]int, n), t.scope.order) {
		return n
	}
	t.groupProfiles(scope, nil)
	return len(t.groups)
}

// mostBytes returns a rough upper bound of the pprofs of a resource, of which ofScope has the numbers. Each has at most all entries of the
// dictionary.
func (t *encoding) mostBytes(resource pprofile.ResourceProfiles, ofScope []int) (bytes int64) {
	if t.tableBytes == 0 {
		t.tableBytes = dictionary.Bytes(t.importer.source)
	}
	tables := maxHeaderBytes + tableFactor*(t.tableBytes+dictionary.MapMemory(resource.Resource().Attributes()))
	for j, scope := range resource.ScopeProfiles().All() {
		profiles := scope.Profiles()
		bytes += int64(ofScope[j]) * int64(tables+dictionary.MapMemory(scope.Scope().Attributes()))
		for _, profile := range profiles.All() {
			bytes += originalFactor * int64(profile.OriginalPayload().Len())
			for _, sample := range profile.Samples().All() {
				bytes += t.mostSampleBytes(sample, profiles.Len())
			}
		}
	}
	return bytes
}

// mostSampleBytes returns an upper bound of the samples that a sample becomes, with this many values each.
func (t *encoding) mostSampleBytes(sample pprofile.Sample, values int) int64 {
	bytes := maxSampleBytes + maxLinkBytes + maxValueBytes + values
	if stack := int(sample.StackIndex()); 0 <= stack && stack < t.importer.source.StackTable().Len() {
		bytes += pprofwire.MaxIDBytes * t.importer.source.StackTable().At(stack).LocationIndices().Len()
	}
	for _, a := range sample.AttributeIndices().All() {
		labels := 1
		if attributes := t.importer.source.AttributeTable(); 0 <= a && int(a) < attributes.Len() {
			if value := attributes.At(int(a)).Value(); value.Type() == pcommon.ValueTypeSlice {
				labels += value.Slice().Len()
			}
		}
		bytes += maxNumLabelBytes * labels
	}
	if !t.opts.TimestampLabels {
		return int64(bytes)
	}
	return int64(bytes) * int64(max(1, sample.TimestampsUnixNano().Len()))
}
