// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package jfr

import (
	"math"

	"github.com/grafana/jfr-parser/parser/types"

	"github.com/otelpprof/otelpprof/internal/dictionary"
)

// maxTime is the latest time of an event, plus one.
const maxTime = math.MaxInt64

// Names of attributes: those of the OpenTelemetry semantic conventions, version 1.41, and of this project. translator/splunk uses the
// same names.
const (
	attributeThreadID    = "thread.id"
	attributeThreadOSID  = "thread.os.id"
	attributeThreadName  = "thread.name"
	attributeThreadState = "thread.state"
	attributeTruncated   = "thread.stack.truncated"
	attributeFrameType   = "profile.frame.type"
)

// observation has the fields that the events of all kinds have in common.
type observation struct {
	ticks   uint64
	thread  types.ThreadRef
	stack   types.StackTraceRef
	state   types.ThreadStateRef
	context spanContext
}

// sampleEntry is an entry of chunk.samples: an observation and its sample.
type sampleEntry struct {
	kind   kind
	thread types.ThreadRef
	stack  types.StackTraceRef
	state  types.ThreadStateRef
	// context is the span context of the observation. Most observations have none.
	context spanContext
	// sample is the number of the sample plus one. 0 means that the entry is empty.
	sample int32
	// noStack says that the stack is not in the recording.
	noStack bool
}

// add adds a value to the list of a kind. Observations are often equal to an earlier one, so a hash table without chains keeps the
// last observation of each hash.
func (t *decoding) add(k kind, o *observation, value int64) {
	hash := (uint64(o.stack)<<20 ^ uint64(o.thread)<<4 ^ uint64(k)) * 0x9e3779b97f4a7c15
	entry := &t.chunk.samples[hash>>32&uint64(len(t.chunk.samples)-1)]
	if entry.sample == 0 || entry.stack != o.stack || entry.thread != o.thread || entry.kind != k || entry.state != o.state ||
		entry.context != o.context {
		before := t.stats.Repairs.NoStack
		*entry = sampleEntry{
			kind: k, thread: o.thread, stack: o.stack, state: o.state, context: o.context, sample: t.addSample(k, o) + 1,
		}
		entry.noStack = t.stats.Repairs.NoStack > before
	} else if entry.noStack {
		t.stats.Repairs.NoStack++
	}
	time, ok := t.clock.time(o.ticks)
	if !ok {
		t.stats.Repairs.InvalidTimes++
	}
	t.note(time)
	list := &t.lists[k]
	list.events = append(list.events, event{sample: entry.sample - 1, time: time, value: value})
}

// addSample returns the number of the sample of an observation. It adds the sample if it is new.
func (t *decoding) addSample(k kind, o *observation) int32 {
	stack, truncated := t.stack(o.stack)
	attributes := t.threadAttributes(o.thread)
	link := int32(0)
	if truncated || k == kindWall || o.context != (spanContext{}) {
		t.attributes = append(t.attributes[:0], attributes...)
		if truncated {
			t.attributes = append(t.attributes, t.dict.BoolAttribute(t.key(&t.keys.truncated, attributeTruncated), 0, true))
		}
		if k == kindWall {
			t.addState(o.state)
		}
		if o.context != (spanContext{}) {
			link = t.addContext(&o.context)
		}
		t.attributes = dictionary.SortSet(t.attributes, 0)
		attributes = t.attributes
	}
	number, added := t.lists[k].samples.Index(dictionary.SampleIdentity{Stack: stack, Link: link}, attributes)
	if added {
		bytes := identityBytes + int64(k.columns())*sampleBytes + 8*int64(1+k.columns())*int64(len(attributes))
		t.need(bytes)
		t.reserved.grown += bytes
	}
	return int32(number)
}

// threadAttributes returns the sorted indices of the attributes of a thread, or nil if the thread is not in the recording.
func (t *decoding) threadAttributes(ref types.ThreadRef) []int32 {
	position, known := t.parser.Threads.IDMap[ref]
	if !known || int(position) >= len(t.chunk.threads) {
		return nil
	}
	if attributes := t.chunk.threads[position]; attributes != nil {
		return attributes
	}
	thread := &t.parser.Threads.Thread[position]
	name := thread.JavaName
	if name == "" {
		name = thread.OsName
	}
	attributes := make([]int32, 0, 3)
	if !t.spendText(len(name)) || !t.need(3*dictionary.AttributeBytes+constantBytes+3*int64(len(name))) {
		return nil
	}
	t.reserved.grown += constantBytes
	if thread.JavaThreadId != 0 {
		attributes = append(attributes, t.dict.IntAttribute(t.key(&t.keys.threadID, attributeThreadID), 0, int64(thread.JavaThreadId)))
	}
	if thread.OsThreadId != 0 {
		attributes = append(attributes, t.dict.IntAttribute(t.key(&t.keys.threadOSID, attributeThreadOSID), 0, int64(thread.OsThreadId)))
	}
	if name != "" {
		attributes = append(attributes, t.textAttribute(t.key(&t.keys.threadName, attributeThreadName), name))
	}
	attributes = dictionary.SortSet(attributes, 0)
	t.chunk.threads[position] = attributes
	return attributes
}

// textAttribute returns the index of an attribute with a text. It copies the text. The caller has counted it with spendText.
func (t *decoding) textAttribute(key int32, text string) int32 {
	t.text = append(t.text[:0], text...)
	return t.dict.StringBytesAttribute(key, 0, t.valid(t.text))
}

// Names of states.
const (
	// stateSleeping is the state of threads that do not run.
	stateSleeping = "STATE_SLEEPING"
	stateRunnable = "STATE_RUNNABLE"
	// stateDefault is the state that async-profiler writes for samples of the CPU, if the recording also has samples of the wall clock.
	stateDefault = "STATE_DEFAULT"
)

// addState adds the state of the thread to the attributes of the sample.
func (t *decoding) addState(ref types.ThreadStateRef) {
	known, found := t.chunk.states[ref]
	if !found {
		name := t.state(ref)
		if name != "" && t.spendText(len(name)) && t.need(dictionary.AttributeBytes+constantBytes+3*int64(len(name))) {
			known = 1 + t.textAttribute(t.key(&t.keys.threadState, attributeThreadState), name)
		}
		t.reserved.grown += constantBytes
		t.chunk.states[ref] = known
	}
	if known != 0 {
		t.attributes = append(t.attributes, known-1)
	}
}

// state returns the name of the state of a thread. The string shares memory with the recording.
func (t *decoding) state(ref types.ThreadStateRef) string {
	if found := t.parser.GetThreadState(ref); found != nil {
		return found.Name
	}
	return ""
}
