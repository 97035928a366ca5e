// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/otelpprof/otelpprof/internal/memory/meter"
)

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
		s, err := c.begin()
		if err != nil {
			return err
		}
		return m.readSeries(&c, s, content)
	})
	return c.series, err
}

func (m messageKind) readSeries(c *seriesCollector, s *series, content []byte) error {
	addLabel := func(content []byte) error { return c.readLabel(s, content) }
	addLabels := addLabel
	if m.labelSet {
		addLabels = func(set []byte) error { return eachMessage(set, labelSetLabels, "labels", addLabel) }
	}
	if err := eachMessage(content, seriesLabels, "labels", addLabels); err != nil {
		return err
	}
	return eachMessage(content, seriesSamples, "samples", func(sample []byte) error {
		profile, err := lastBytes(sample, sampleRawProfile, "raw_profile")
		if err != nil {
			return err
		}
		return c.addProfile(s, profile)
	})
}

func (c *seriesCollector) readLabel(s *series, content []byte) error {
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
	return c.addLabel(s, string(name), string(value))
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
