// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprof

import (
	"cmp"
	"math"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/attributevalue"
	"github.com/otelpprof/otelpprof/internal/dictionary"
	"github.com/otelpprof/otelpprof/internal/pprofwire"
)

// encoding is the working memory of one translation, used again by the next.
//
// The order of work: profiles are put into groups; the samples of a group are joined, and each entry that they reach is
// checked and gets its pprof id on its first use. All of that takes memory in proportion to the message: a stack, and
// what an attribute becomes, stand there once, however many samples have them. Then the size of the pprof is known, and it
// is written if it fits.
//
// Strings, attributes and links are imported into dict, which joins what is equal by value. Stacks and what they are
// made of are told apart by their index, which makes no difference where each stands in its table once.
type encoding struct {
	opts     *EncodeOptions
	memory   allowance
	dict     *dictionary.Builder
	importer dictionary.Importer
	source   sourceTables

	groups  []group
	open    map[groupKey]int
	turns   map[typeKey]int
	sets    dictionary.ListTable
	faults  []ProfileError
	joining joining
	// mostProfiles is the length of the longest scope since the maps were made.
	mostProfiles int

	// written is the size of the pprofs of the message so far, wasted that of the work on those that were refused.
	written, wasted int

	// out is the pprof, tail what follows its samples up to the strings.
	out, tail []byte
	outTaken  int
	locals    locals
	labels    labelWriter
	wireLines []pprofwire.Line
}

// group is what becomes one pprof.
type group struct {
	key      groupKey
	profiles []groupedProfile
}

// groupKey holds what the profiles of a group have in common. attributes is the number of a set in encoding.sets.
// Profiles of equal type cannot share a group: turn counts the groups that are alike in all else.
type groupKey struct {
	time, duration uint64
	period         int64
	periodType     typeIndices
	attributes     int32
	turn           int
}

// typeKey is a sample type among the profiles that are alike in all else.
type typeKey struct {
	group      groupKey
	sampleType typeIndices
}

type typeIndices struct{ name, unit int32 }

type groupedProfile struct {
	source     pprofile.Profile
	sampleType typeIndices
	comments   int32
	// position is that of the profile in its scope.
	position int
}

func newEncoding() *encoding {
	return &encoding{dict: dictionary.New(), open: map[groupKey]int{}, turns: map[typeKey]int{}}
}

// begin prepares for another message. Its error is that of reserve.
func (t *encoding) begin(opts *EncodeOptions, pd pprofile.Profiles, reserve func(bytes int64) error) error {
	t.opts = opts
	t.memory = allowance{reserve: reserve}
	t.written, t.wasted = 0, 0
	t.outTaken, t.joining.rowsTaken, t.joining.attributesTaken, t.labels.itemsTaken = 0, 0, 0, 0
	if err := t.memory.take(max(t.kept(), tablesMemory(pd))); err != nil {
		return err
	}
	source := pd.Dictionary()
	t.dict.Reset(dictionary.Sizes{
		Strings:    source.StringTable().Len(),
		Attributes: source.AttributeTable().Len(),
		Links:      source.LinkTable().Len(),
	})
	t.importer.Reset(t.dict, source)
	t.source.reset(source, &t.importer)
	t.labels.begin(t)
	return nil
}

// release drops what refers to the caller's data and returns the size of the memory.
func (t *encoding) release() (bytes int) {
	clear(t.groups[:cap(t.groups)])
	clear(t.faults[:cap(t.faults)])
	t.memory = allowance{}
	t.dict.Reset(dictionary.Sizes{})
	t.importer.Release()
	t.source.release()
	return t.kept()
}

// groupProfiles sorts the profiles of one scope into groups, in the order of their first profiles. scopeErr is what is wrong
// with the attributes of the scope or of its resource: then it is a fault of each profile.
// Where the scope's order of sample types is that of all its profiles, they were one pprof, even if it names a type twice.
func (t *encoding) groupProfiles(scope pcommon.InstrumentationScope, profiles pprofile.ProfilesSlice, scopeErr error) {
	_, wasOne := originalOrder(scope, profiles.Len())
	clear(t.open)
	clear(t.turns)
	t.sets.Reset(0)
	t.mostProfiles = max(t.mostProfiles, profiles.Len())
	t.groups, t.faults = t.groups[:0], t.faults[:0]
	for i, profile := range profiles.All() {
		key, imported, err := t.importHeader(profile)
		imported.position = i
		if err = cmp.Or(scopeErr, err); err != nil {
			t.faults = append(t.faults, ProfileError{Profile: i, ProfileID: profile.ProfileID(), Err: err})
			continue
		}
		if !wasOne {
			key.turn = t.turn(key, imported.sampleType)
		}
		t.addToGroup(key, imported)
	}
}

// turn returns how many profiles there were with this key and sample type: no two of them share a group.
func (t *encoding) turn(key groupKey, sampleType typeIndices) int {
	ofType := typeKey{key, sampleType}
	t.turns[ofType]++
	return t.turns[ofType] - 1
}

// addToGroup adds a profile to the group of its key.
func (t *encoding) addToGroup(key groupKey, profile groupedProfile) {
	g, found := t.open[key]
	if !found {
		g = len(t.groups)
		t.open[key] = g
		t.groups = append(t.groups, group{key: key})
	}
	t.groups[g].profiles = append(t.groups[g].profiles, profile)
}

// importHeader imports what a profile says beside its samples.
func (t *encoding) importHeader(profile pprofile.Profile) (key groupKey, imported groupedProfile, err error) {
	imported.source = profile
	key.time, key.duration, key.period = uint64(profile.Time()), profile.DurationNano(), profile.Period()
	if imported.sampleType, err = t.importType(profile.SampleType()); err != nil {
		return key, imported, err
	}
	if key.periodType, err = t.importType(profile.PeriodType()); err != nil {
		return key, imported, err
	}
	attributes, err := t.importer.AppendAttributes(nil, profile.AttributeIndices())
	if err != nil {
		return key, imported, err
	}
	key.attributes, imported.comments = t.splitComments(attributes)
	return key, imported, nil
}

// splitComments parts the comments from the other attributes, since only one profile of a group has them. Both
// are returned as numbers in t.sets.
func (t *encoding) splitComments(attributes []int32) (others, comments int32) {
	var kept, taken []int32
	for _, a := range attributes {
		if isComment(t.dict.StringAt(t.dict.AttributeAt(a).Key)) {
			taken = append(taken, a)
		} else {
			kept = append(kept, a)
		}
	}
	return t.sets.Index(kept), t.sets.Index(taken)
}

func (t *encoding) importType(v pprofile.ValueType) (indices typeIndices, err error) {
	if indices.name, err = t.importer.String(v.TypeStrindex()); err != nil {
		return indices, err
	}
	indices.unit, err = t.importer.String(v.UnitStrindex())
	return indices, err
}

// nanos turns an unsigned time into pprof's signed one; what is too far in the future becomes the last moment.
func nanos(t uint64) int64 { return int64(min(t, math.MaxInt64)) }

// resourceComments are the attributes of a resource as comments.
func resourceComments(attributes pcommon.Map) []string {
	comments := make([]string, 0, attributes.Len())
	for key, value := range attributes.All() {
		comments = append(comments, "resource:"+key+"="+attributevalue.Text(value))
	}
	return comments
}
