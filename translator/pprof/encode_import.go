// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprof

import (
	"cmp"
	"math"
	"slices"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/dictionary"
	"github.com/otelpprof/otelpprof/internal/wire/pprofwire"
	"github.com/otelpprof/otelpprof/translator/internal/semconv"
)

// encoding is the memory of one translation. The next one reuses it.
//
// The order of work: group the profiles; join the samples of a group, and check each entry and assign its pprof id on
// first use. Up to here, memory is proportional to the message: stacks and the labels of attributes are stored once,
// however many samples have them. Then the size of the pprof is known, and it is written if it fits.
//
// Strings, attributes and links are imported into dict, so that equal ones are identical. Stacks and their entries are
// identified by their index in the message: in a valid message, each occurs once.
type encoding struct {
	opts     *EncodeOptions
	memory   encodeMemory
	dict     *dictionary.Builder
	importer importer

	groups  []group
	open    map[groupKey]int
	counts  map[typeKey]int
	sets    dictionary.ListTable
	joining joining
	// resourceIndex and scopeIndex locate the scope of the groups in the message.
	resourceIndex, scopeIndex int
	// maxProfiles is the number of profiles in the largest scope since the maps were created.
	maxProfiles int

	// written is the size of the pprofs of the message so far. needed is the most bytes that the last one could need, checked the most that were
	// compared with the limit for it. wasted is the size of the work on refused ones, unused that of original payloads that were not written.
	written, needed, checked, wasted, unused int
	// trial is what written will be at the same place when [encoding.checkTotal] has ended, and 0 outside of it.
	trial int
	// tried has wasted and unused after the last trial, see [encoding.checkTotal].
	tried struct{ wasted, unused int }

	// tableBytes is the size of the dictionary of the message, or 0 if it was not needed yet.
	tableBytes int

	// out is the pprof. tail is the part after its samples and before its strings.
	out, tail []byte
	// outLargest is the largest size of out. Only that counts, see [encodeMemory.growTo]. The same holds for the other lists with such a field.
	outLargest int
	locals     locals
	labels     labelWriter
	wireLines  []pprofwire.Line

	texts texts
	// locationFlags and mappingParts have those of entries with long lists of attributes, which many pprofs of a message can have.
	locationFlags map[int32]locationFlags
	mappingParts  map[int32]mappingParts
	// badStacks has the errors of long stacks.
	badStacks map[int32]error
	// scope is what the attributes of the current scope say.
	scope scopeParts
}

// scopeParts is what the attributes of a scope say of its pprofs. There can be many of both.
type scopeParts struct {
	// order is the attribute with the original order of the sample types, if there is one.
	order pcommon.Value
	// defaultType is the default sample type. It is not in encoding.dict: many scopes without profiles can share a long one.
	defaultType string
	// threads is true if thread.id and thread.name replace labels of Datadog's.
	threads bool
}

func (t *encoding) readScope(attributes pcommon.Map) {
	t.scope = scopeParts{}
	if order, found := attributes.Get(semconv.ScopeSampleTypeOrder); found {
		t.scope.order = order
	}
	if name, found := attributes.Get(semconv.ScopeDefaultSampleType); found {
		t.scope.defaultType = name.Str()
	}
	if threads, found := attributes.Get(semconv.ScopeThreadLabels); found {
		t.scope.threads = threads.Bool()
	}
}

// group is a set of profiles that become one pprof.
type group struct {
	key      groupKey
	profiles []groupedProfile
}

// groupKey has what the profiles of a group share. attributes is the number of a set in encoding.sets. A group has at
// most one profile of each sample type: repetition numbers the groups that are otherwise equal.
type groupKey struct {
	time, duration uint64
	period         int64
	periodType     typeIndices
	attributes     int32
	repetition     int
}

// typeKey is a sample type in the groups that are otherwise equal.
type typeKey struct {
	group      groupKey
	sampleType typeIndices
}

type typeIndices struct{ name, unit int32 }

type groupedProfile struct {
	source     pprofile.Profile
	sampleType typeIndices
	comments   int32
	// position is the index of the profile in its scope.
	position int
}

func newEncoding() *encoding {
	t := &encoding{dict: dictionary.New(), open: map[groupKey]int{}, counts: map[typeKey]int{}}
	t.labels.t = t
	return t
}

// begin prepares for a message. The error is that of the meter.
func (t *encoding) begin(opts *EncodeOptions, pd pprofile.Profiles) error {
	t.opts = opts
	t.written, t.wasted, t.unused, t.tableBytes = 0, 0, 0, 0
	t.tried.wasted, t.tried.unused = 0, 0
	t.outLargest, t.joining.rowsLargest, t.joining.attributesLargest, t.labels.itemsLargest = 0, 0, 0, 0
	if err := t.memory.grow(max(t.kept(), tablesMemory(pd))); err != nil {
		return err
	}
	source := pd.Dictionary()
	t.dict.Reset(dictionary.Lengths{
		dictionary.Strings:    source.StringTable().Len(),
		dictionary.Attributes: source.AttributeTable().Len(),
		dictionary.Links:      source.LinkTable().Len(),
	})
	t.importer.reset(t.dict, source)
	return nil
}

// release drops all references to the caller's data and returns the size of the memory that is kept.
func (t *encoding) release() (bytes int) {
	clear(t.groups[:cap(t.groups)])
	t.memory = encodeMemory{}
	t.dict.Reset(dictionary.Lengths{})
	t.importer.builder, t.importer.source = nil, pprofile.ProfilesDictionary{}
	t.texts, t.locationFlags, t.mappingParts, t.badStacks, t.scope = texts{}, nil, nil, nil, scopeParts{}
	return t.kept()
}

// groupProfiles groups the profiles of one scope, in the order of their first profiles. scopeErr is an error in the
// attributes of the scope or resource; it applies to every profile. If the scope has the order of sample types of all its
// profiles, they come from one pprof, even if a type occurs twice. It returns the errors of the other profiles.
func (t *encoding) groupProfiles(scope pprofile.ScopeProfiles, scopeErr error) (faults []error) {
	profiles := scope.Profiles()
	t.readScope(scope.Scope().Attributes())
	fromOnePprof := fillOrder(make([]int, profiles.Len()), t.scope.order)
	clear(t.open)
	clear(t.counts)
	t.sets.Reset(0)
	t.maxProfiles = max(t.maxProfiles, profiles.Len())
	t.groups = t.groups[:0]
	for i, profile := range profiles.All() {
		key, imported, err := t.importHeader(profile)
		imported.position = i
		if err = cmp.Or(scopeErr, err); err != nil {
			faults = append(faults, t.fault(&imported, err))
			continue
		}
		if !fromOnePprof {
			ofType := typeKey{key, imported.sampleType}
			key.repetition = t.counts[ofType]
			t.counts[ofType]++
		}
		g, found := t.open[key]
		if !found {
			g = len(t.groups)
			t.open[key] = g
			t.groups = slices.Grow(t.groups, 1)[:g+1]
			t.groups[g] = group{key: key, profiles: t.groups[g].profiles[:0]}
		}
		t.groups[g].profiles = append(t.groups[g].profiles, imported)
	}
	return faults
}

// importHeader imports everything of a profile except its samples.
func (t *encoding) importHeader(profile pprofile.Profile) (key groupKey, imported groupedProfile, err error) {
	imported.source = profile
	key.time, key.duration, key.period = uint64(profile.Time()), profile.DurationNano(), profile.Period()
	if imported.sampleType, err = t.importType(profile.SampleType()); err != nil {
		return key, imported, err
	}
	if key.periodType, err = t.importType(profile.PeriodType()); err != nil {
		return key, imported, err
	}
	attributes, err := t.importer.appendAttributes(nil, profile.AttributeIndices())
	if err != nil {
		return key, imported, err
	}
	var others, comments []int32 // Not all profiles of a group have the same comments.
	for _, a := range attributes {
		if isComment(t.dict.StringAt(t.dict.AttributeAt(a).Key)) {
			comments = append(comments, a)
		} else {
			others = append(others, a)
		}
	}
	key.attributes, imported.comments = t.sets.Index(others), t.sets.Index(comments)
	return key, imported, nil
}

func (t *encoding) importType(v pprofile.ValueType) (indices typeIndices, err error) {
	if indices.name, err = t.importer.string(v.TypeStrindex()); err != nil {
		return indices, err
	}
	indices.unit, err = t.importer.string(v.UnitStrindex())
	return indices, err
}

// nanos converts an unsigned time to the signed time of pprof. Larger values become the maximum.
func nanos(t uint64) int64 { return int64(min(t, math.MaxInt64)) }
