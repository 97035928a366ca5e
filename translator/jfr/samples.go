// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package jfr

import (
	"cmp"
	"math"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/dictionary"
	"github.com/otelpprof/otelpprof/translator/internal/message"
	"github.com/otelpprof/otelpprof/translator/internal/profileid"
	"github.com/otelpprof/otelpprof/translator/internal/semconv"
)

// maxTime is the latest time of an event, plus one.
const maxTime = math.MaxInt64

// observation has the fields that the events of all kinds have in common. thread, stack and state are ids of constants.
type observation struct {
	ticks, thread, stack, state uint64
	context                     spanContext
	// time is in nanoseconds since 1970. scope is the number in scopes.changes plus one, or 0.
	time  uint64
	scope int32
}

// sampleEntry is an entry of decoding.samples: an observation and its sample.
type sampleEntry struct {
	thread, stack, state uint64
	// context is the span context of the observation. Most observations have none.
	context spanContext
	scope   int32
	chunk   int32
	kind    kind
	// sample is the number of the sample plus one. 0 means that the entry is empty.
	sample int32
	// noStack says that the stack is not in the recording.
	noStack bool
}

// The numbers of entries of decoding.samples. The maximum keeps the table in the cache of a processor.
const (
	minEntries = 1 << 6
	maxEntries = 1 << 12
)

// locate finds the time and the scope of an observation.
func (t *decoding) locate(o *observation) {
	var ok bool
	if o.time, ok = t.chunk.time(o.ticks); !ok {
		t.stats.Repairs.InvalidTimes++
	}
	if len(t.scopes.changes) > 0 {
		o.scope = t.scopes.find(o.thread, o.time)
	}
	t.note(o.time)
}

// add adds a value to the list of a kind. Observations are often equal to an earlier one, so a hash table without chains keeps the
// last observation of each hash.
func (t *decoding) add(k kind, o *observation, value int64) {
	hash := (o.stack<<20 ^ o.thread<<4 ^ uint64(k)) * 0x9e3779b97f4a7c15
	entry := &t.samples[hash>>32&uint64(len(t.samples)-1)]
	if entry.sample == 0 || entry.stack != o.stack || entry.thread != o.thread || entry.kind != k || entry.state != o.state ||
		entry.context != o.context || entry.scope != o.scope || entry.chunk != t.number {
		before := t.stats.Repairs.NoStack
		*entry = sampleEntry{
			thread: o.thread, stack: o.stack, state: o.state, context: o.context, scope: o.scope, chunk: t.number, kind: k,
			sample: t.addSample(k, o) + 1,
		}
		entry.noStack = t.stats.Repairs.NoStack > before
	} else if entry.noStack {
		t.stats.Repairs.NoStack++
	}
	t.lists[k].Add(message.Event{Sample: entry.sample - 1, Time: o.time, Value: value})
}

// addSample returns the number of the sample of an observation. It adds the sample if it is new.
func (t *decoding) addSample(k kind, o *observation) int32 {
	stack, truncated := t.stack(o.stack)
	attributes := t.threadAttributes(o.thread)
	link := int32(0)
	if truncated || k == kindWall || o.scope != 0 || o.context != (spanContext{}) {
		t.attributes = append(t.attributes[:0], attributes...)
		if truncated {
			t.attributes = append(t.attributes, t.dict.TrueAttribute(t.dict.String(semconv.StackTruncated)))
		}
		if k == kindWall {
			t.addState(o.state)
		}
		link = t.addContext(&o.context)
		if link == 0 && o.scope != 0 {
			link = t.addLink(t.scopes.changes[o.scope-1].link)
		}
		t.attributes = dictionary.SortSet(t.attributes, 0)
		attributes = t.attributes
	}
	number, added := t.lists[k].Samples.Index(dictionary.SampleIdentity{Stack: stack, Link: link}, attributes)
	if added {
		bytes := identityBytes + int64(k.columns())*sampleBytes + 8*int64(1+k.columns())*int64(len(attributes))
		_ = t.meter.Use(bytes) // readEvents checks the error.
	}
	return int32(number)
}

// threadAttributes returns the sorted indices of the attributes of a thread, or nil if the thread is not in the recording.
func (t *decoding) threadAttributes(id uint64) []int32 {
	constant := t.chunk.constant(poolThreads, id)
	if constant == nil {
		return nil
	}
	if constant.index != 0 {
		return t.threads[constant.index-1]
	}
	if t.meter.Need(3*dictionary.AttributeBytes+threadBytes) != nil || t.meter.Use(threadBytes) != nil {
		return nil
	}
	thread := t.chunk.fields(poolThreads, constant)
	attributes := make([]int32, 0, 3)
	if id := thread[fieldJavaThreadID]; id != 0 {
		attributes = append(attributes, t.dict.IntAttribute(t.dict.String(semconv.ThreadID), 0, int64(id)))
	}
	if id := thread[fieldOSThreadID]; id != 0 {
		attributes = append(attributes, t.dict.IntAttribute(t.dict.String(semconv.ThreadOSID), 0, int64(id)))
	}
	t.text = t.text[:0]
	if t.appendText(thread[fieldJavaName]); len(t.text) == 0 {
		t.appendText(thread[fieldOSName])
	}
	if len(t.text) > 0 {
		attributes = append(attributes, t.dict.StringBytesAttribute(t.dict.String(semconv.ThreadName), t.valid(t.text)))
	}
	t.threads = append(t.threads, dictionary.SortSet(attributes, 0))
	constant.index = int32(len(t.threads))
	return t.threads[constant.index-1]
}

// Names of states.
const (
	// stateSleeping is the state of threads that do not run.
	stateSleeping = "STATE_SLEEPING"
	stateRunnable = "STATE_RUNNABLE"
	// stateDefault is the state that async-profiler writes for samples of the CPU, if the recording also has samples of the wall clock.
	stateDefault = "STATE_DEFAULT"
)

// stateName returns the name of the state of a thread. It cuts long names. The result is valid until the next call.
func (t *decoding) stateName(id uint64) []byte {
	if constant := t.chunk.constant(poolStates, id); constant != nil {
		return t.shortText(t.chunk.fields(poolStates, constant)[fieldText])
	}
	return nil
}

// addState adds the state of the thread to the attributes of the sample.
func (t *decoding) addState(id uint64) {
	state := t.named(poolStates, id, func(name []byte) int32 {
		return t.dict.StringBytesAttribute(t.dict.String(semconv.ThreadState), name)
	})
	if state != 0 {
		t.attributes = append(t.attributes, state)
	}
}

// named returns the attribute that stands for a constant, or 0 for none. attribute returns it for the name of the constant, once.
func (t *decoding) named(which poolID, id uint64, attribute func(name []byte) int32) int32 {
	constant := t.chunk.constant(which, id)
	if constant == nil {
		return 0
	}
	if constant.index == 0 && t.meter.Need(dictionary.AttributeBytes) == nil {
		constant.index = -1
		t.text = t.text[:0]
		if t.appendText(t.chunk.fields(which, constant)[fieldText]); len(t.text) > 0 {
			constant.index = cmp.Or(attribute(t.valid(t.text)), -1)
		}
	}
	return max(constant.index, 0)
}

// write returns the message. payload is that of Decode: the profile ids depend on it.
func (t *decoding) write(payload []byte) (pprofile.Profiles, error) {
	pd := pprofile.NewProfiles()
	scope, ids := message.AddScope(pd, t.src.Resource, t.src.ScopeName, t.src.ScopeVersion, payload, t.src.Labels)
	for k := range numKinds {
		list := &t.lists[k]
		if list.Len() == 0 {
			continue
		}
		list.Sort()
		columns := k.columns()
		t.addProfile(scope.Profiles(), k, t.valueType(k), false, &ids)
		if columns > 1 {
			t.addProfile(scope.Profiles(), k, kinds[k].count, true, &ids)
		}
		t.stats.OTLPSamples += columns * list.Samples.Len()
	}
	if t.opts.IncludeOriginalPayload {
		t.addOriginal(scope.Profiles(), payload)
	}
	if err := t.meter.Err(); err != nil {
		return pprofile.Profiles{}, err
	}
	t.dict.WriteTo(pd.Dictionary())
	t.stats.MessageBytes = messageBytes + dictionary.MessageMemory(pd)
	return pd, nil
}

// addOriginal adds the payload to each profile.
func (t *decoding) addOriginal(profiles pprofile.ProfilesSlice, payload []byte) {
	if t.meter.Use(int64(profiles.Len())*int64(len(payload))) != nil {
		return
	}
	for _, profile := range profiles.All() {
		profile.SetOriginalPayloadFormat("jfr")
		profile.OriginalPayload().FromRaw(payload)
	}
}

// valueType returns the type of the values of a kind. If the period is not known, the values are numbers of samples.
func (t *decoding) valueType(k kind) valueType {
	if (k == kindCPU || k == kindWall) && t.periods[k] == 0 {
		return samplesType
	}
	return kinds[k].value
}

// addProfile appends a profile with values of type v. With ones, each value is 1. All profiles have the time range of the recording.
func (t *decoding) addProfile(profiles pprofile.ProfilesSlice, k kind, v valueType, ones bool, ids *profileid.IDs) {
	profile := profiles.AppendEmpty()
	profile.SetProfileID(ids.Next(v.name, v.unit))
	profile.SampleType().SetTypeStrindex(t.dict.String(v.name))
	profile.SampleType().SetUnitStrindex(t.dict.String(v.unit))
	if period := kinds[k].period; period != noType && v != samplesType {
		profile.PeriodType().SetTypeStrindex(t.dict.String(period.name))
		profile.PeriodType().SetUnitStrindex(t.dict.String(period.unit))
		profile.SetPeriod(int64(t.periods[k]))
	}
	profile.SetTime(pcommon.Timestamp(t.start))
	profile.SetDurationNano(t.end - t.start)
	name := t.dict.StringAttribute(t.dict.String(semconv.ProfileName), kinds[k].profile)
	profile.AttributeIndices().FromRaw([]int32{name})
	t.lists[k].Write(profile.Samples(), ones)
}
