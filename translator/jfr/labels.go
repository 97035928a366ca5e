// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package jfr

import (
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/otelpprof/otelpprof/internal/dictionary"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

// labels is the labels snapshot of Pyroscope's agents. It has the labels of the contexts to which events refer by id. Its definition
// is Pyroscope's jfr_labels.proto:
//
//	message LabelsSnapshot { map<int64, Context> contexts = 1; map<int64, string> strings = 2; }
//	message Context        { map<int64, int64> labels = 1; }  // strings by their id: names to values
type labels struct {
	contexts map[uint64]*labelContext
	strings  map[uint64][]byte
}

// labelContext has the labels of a context, and their translation.
type labelContext struct {
	// labels has the ids of names and values in labels.strings.
	labels [][2]uint64
	// done says that the fields below are set.
	done bool
	// link is the link in the labels, or the zero value. trace and span are the labels trace_id and span_id. replaced says that the
	// link has all that they say.
	link        dictionary.Link
	trace, span idLabel
	replaced    bool
	// attributes has the other labels.
	attributes []int32
}

// idLabel is a label with the name that a link has in a pprof.
type idLabel struct {
	// value is nil if the context does not have the label.
	value []byte
	// otherKey is the key of the attribute beside another link, once a sample needs it.
	otherKey string
}

// The numbers of the fields. The entries of maps have a key and a value.
const (
	snapshotContexts protowire.Number = 1
	snapshotStrings  protowire.Number = 2
	contextLabels    protowire.Number = 1
	entryKey         protowire.Number = 1
	entryValue       protowire.Number = 2
)

// labelsFactor is the memory of a snapshot as a multiple of its size: four bytes can become an entry of a map.
const labelsFactor = 48

// maxLabels is the maximum number of labels of a context.
const maxLabels = 128

// readLabels reads the snapshot, if there is one.
func (t *decoding) readLabels() error {
	if len(t.src.Labels) == 0 {
		return nil
	}
	plain, _, err := t.inflate(&t.inflatedLabels, t.src.Labels, "labels")
	if err != nil {
		return err
	}
	if err := t.meter.Use(labelsFactor * int64(len(plain))); err != nil {
		return err
	}
	t.labels = labels{contexts: map[uint64]*labelContext{}, strings: map[uint64][]byte{}}
	return eachField(plain, func(number protowire.Number, entry []byte, _ uint64) error {
		if number != snapshotContexts && number != snapshotStrings {
			return nil
		}
		key, _, content, err := readEntry(entry)
		if err != nil {
			return err
		}
		if number == snapshotStrings {
			if len(content) > pprof.MaxStringBytes {
				return tooLarge("bytes of a string of the labels", len(content), pprof.MaxStringBytes)
			}
			t.labels.strings[key] = content
			return nil
		}
		c := &labelContext{}
		t.labels.contexts[key] = c
		return c.read(content)
	})
}

func (c *labelContext) read(content []byte) error {
	return eachField(content, func(number protowire.Number, entry []byte, _ uint64) error {
		if number != contextLabels {
			return nil
		}
		if len(c.labels) == maxLabels {
			return tooLarge("labels of a context", maxLabels+1, maxLabels)
		}
		key, value, _, err := readEntry(entry)
		c.labels = append(c.labels, [2]uint64{key, value})
		return err
	})
}

// readEntry reads an entry of a map. The value is a number (value) or bytes (content).
func readEntry(entry []byte) (key, value uint64, content []byte, err error) {
	err = eachField(entry, func(number protowire.Number, bytes []byte, varint uint64) error {
		switch number {
		case entryKey:
			key = varint
		case entryValue:
			value, content = varint, bytes
		}
		return nil
	})
	return key, value, content, err
}

// eachField calls f for each field of a message, with its bytes or its varint.
func eachField(message []byte, f func(number protowire.Number, bytes []byte, varint uint64) error) error {
	for len(message) > 0 {
		number, wireType, n := protowire.ConsumeField(message)
		if n < 0 {
			return malformed("cannot read the labels snapshot: %s", protowire.ParseError(n).Error())
		}
		_, _, begin := protowire.ConsumeTag(message)
		var bytes []byte
		var varint uint64
		switch wireType {
		case protowire.BytesType:
			bytes, _ = protowire.ConsumeBytes(message[begin:])
		case protowire.VarintType:
			varint, _ = protowire.ConsumeVarint(message[begin:])
		}
		if err := f(number, bytes, varint); err != nil {
			return err
		}
		message = message[n:]
	}
	return nil
}
