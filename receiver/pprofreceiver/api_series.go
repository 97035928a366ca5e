// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"unsafe"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/otelpprof/otelpprof/internal/memory/meter"
)

// series is a list of profiles with the same labels. Clients push several in one message: Pyroscope's PushRequest or Parca's
// WriteRawRequest, in protobuf or JSON. Both are parsed in place and under limits. Unknown fields are skipped.
type series struct {
	labels []label
	// profiles are pprofs, compressed or not. They refer to memory of the message.
	profiles [][]byte
}

// messageKind is a type of message.
type messageKind struct {
	series protowire.Number
	// labelSet is true if the labels of a series are in a nested message.
	labelSet bool
	// serviceLabel is the label that stands in for the service name, as in OpenTelemetry for Prometheus.
	serviceLabel string
}

var (
	// pushMessage is the request of push.v1.PusherService/Push.
	pushMessage = messageKind{series: 1}
	// writeRawMessage is the request of parca.profilestore.v1alpha1.ProfileStoreService/WriteRaw.
	writeRawMessage = messageKind{series: 2, labelSet: true, serviceLabel: "job"}
)

// labelBytes is the memory of a label without its text.
const labelBytes = int(unsafe.Sizeof(label{}))

// seriesCollector has the series that were read so far.
type seriesCollector struct {
	// limit is the number of series, and that of the profiles of all series together, that a message can have.
	limit int
	// memory counts each label. Its error is returned unchanged, also while JSON is read.
	memory   *meter.Meter
	series   []series
	profiles int
}

// begin begins the next series. What follows belongs to it.
func (c *seriesCollector) begin() error {
	if len(c.series) == c.limit {
		return newRefusal(tooLarge, "message too large: more than %d series", c.limit)
	}
	c.series = append(c.series, series{})
	return nil
}

// addLabel adds a label, unless a limit is exceeded.
func (c *seriesCollector) addLabel(name, value string) (err error) {
	if err := c.memory.Use(int64(labelBytes + len(name) + len(value))); err != nil {
		return err
	}
	s := &c.series[len(c.series)-1]
	s.labels, err = appendLabel(s.labels, name, value)
	return err
}

func (c *seriesCollector) addProfile(profile []byte) error {
	if c.profiles == c.limit {
		return newRefusal(tooLarge, "message too large: more than %d profiles", c.limit)
	}
	c.profiles++
	s := &c.series[len(c.series)-1]
	s.profiles = append(s.profiles, profile)
	return nil
}

// errMalformedMessage is the error for a message that cannot be parsed. A scanner of JSON wraps it.
var errMalformedMessage = newRefusal(malformed, "malformed message")

func malformedMessage(format string, args ...any) error {
	return newRefusal(malformed, "malformed message: "+format, args...)
}

// The field numbers that both messages share:
//
//	message Series    { repeated Label labels = 1; repeated RawSample samples = 2; }  // PushRequest
//	message Series    { LabelSet labels = 1;       repeated RawSample samples = 2; }  // WriteRawRequest
//	message LabelSet  { repeated Label labels = 1; }
//	message Label     { string name = 1; string value = 2; }
//	message RawSample { bytes raw_profile = 1; }
const (
	seriesLabels     protowire.Number = 1
	seriesSamples    protowire.Number = 2
	labelSetLabels   protowire.Number = 1
	labelName        protowire.Number = 1
	labelValue       protowire.Number = 2
	sampleRawProfile protowire.Number = 1
)

// read parses a message in protobuf. The profiles refer to memory of message, which must not be modified while they are
// in use.
func (m messageKind) read(message []byte, limit int, memory *meter.Meter) ([]series, error) {
	c := seriesCollector{limit: limit, memory: memory}
	err := eachMessage(message, m.series, "series", func(content []byte) error {
		if err := c.begin(); err != nil {
			return err
		}
		return m.readSeries(&c, content)
	})
	return c.series, err
}

func (m messageKind) readSeries(c *seriesCollector, content []byte) error {
	addLabels := c.readLabel
	if m.labelSet {
		addLabels = func(set []byte) error { return eachMessage(set, labelSetLabels, "labels", c.readLabel) }
	}
	if err := eachMessage(content, seriesLabels, "labels", addLabels); err != nil {
		return err
	}
	return eachMessage(content, seriesSamples, "samples", func(sample []byte) error {
		profile, err := lastBytes(sample, sampleRawProfile, "raw_profile")
		if err != nil {
			return err
		}
		return c.addProfile(profile)
	})
}

func (c *seriesCollector) readLabel(content []byte) error {
	name, err := lastBytes(content, labelName, "label name")
	if err != nil {
		return err
	}
	value, err := lastBytes(content, labelValue, "label value")
	if err != nil {
		return err
	}
	// Check the limits before copying.
	if len(name) > maxLabelName || len(value) > maxLabelValue {
		name, value = name[:min(len(name), maxLabelName+1)], value[:min(len(value), maxLabelValue+1)]
	}
	return c.addLabel(string(name), string(value))
}

// lastBytes returns the content of the last field of this number: a field that is not repeated can occur again, and the last one counts.
func lastBytes(message []byte, number protowire.Number, name string) (last []byte, err error) {
	err = eachMessage(message, number, name, func(content []byte) error {
		last = content
		return nil
	})
	return last, err
}

// eachMessage calls f with each length-delimited field of this number, and skips other fields.
func eachMessage(message []byte, number protowire.Number, name string, f func(content []byte) error) error {
	for len(message) > 0 {
		found, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			return malformedMessage("cannot read a tag beside %s: %w", name, protowire.ParseError(n))
		}
		message = message[n:]
		if found != number {
			if n = protowire.ConsumeFieldValue(found, kind, message); n < 0 {
				return malformedMessage("cannot skip field %d beside %s: %w", found, name, protowire.ParseError(n))
			}
			message = message[n:]
			continue
		}
		if kind != protowire.BytesType {
			return malformedMessage("field %d, %s, has wire type %d, it must be %d", found, name, kind, protowire.BytesType)
		}
		content, n := protowire.ConsumeBytes(message)
		if n < 0 {
			return malformedMessage("cannot read field %d, %s: %w", found, name, protowire.ParseError(n))
		}
		message = message[n:]
		if err := f(content); err != nil {
			return err
		}
	}
	return nil
}
