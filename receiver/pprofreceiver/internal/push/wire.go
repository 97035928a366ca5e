// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package push

import (
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/otelpprof/otelpprof/receiver/pprofreceiver/internal/label"
)

type fieldNumber = protowire.Number

// The field numbers that both messages share:
//
//	message Series    { repeated Label labels = 1; repeated RawSample samples = 2; }  // PushRequest
//	message Series    { LabelSet labels = 1;       repeated RawSample samples = 2; }  // WriteRawRequest
//	message LabelSet  { repeated Label labels = 1; }
//	message Label     { string name = 1; string value = 2; }
//	message RawSample { bytes raw_profile = 1; }
const (
	seriesLabels     fieldNumber = 1
	seriesSamples    fieldNumber = 2
	labelSetLabels   fieldNumber = 1
	labelName        fieldNumber = 1
	labelValue       fieldNumber = 2
	sampleRawProfile fieldNumber = 1
)

// Read parses a message in protobuf. The profiles refer to memory of message, which must not be modified while they are
// in use. The error is [ErrMalformed], [ErrTooLarge], or an error of limits.Memory.
func (m Message) Read(message []byte, limits Limits) ([]Series, error) {
	c := collector{limits: limits}
	err := eachMessage(message, m.series, "series", func(content []byte) error {
		s, err := c.begin()
		if err != nil {
			return err
		}
		return m.readSeries(&c, s, content)
	})
	return c.series, err
}

func (m Message) readSeries(c *collector, s *Series, content []byte) error {
	addLabel := func(content []byte) error { return c.readLabel(s, content) }
	addLabels := addLabel
	if m.labelSet {
		addLabels = func(set []byte) error { return eachMessage(set, labelSetLabels, "labels", addLabel) }
	}
	if err := eachMessage(content, seriesLabels, "labels", addLabels); err != nil {
		return err
	}
	return eachMessage(content, seriesSamples, "samples", func(sample []byte) error {
		var profile []byte
		err := eachMessage(sample, sampleRawProfile, "raw_profile", func(content []byte) error {
			profile = content
			return nil
		})
		if err != nil {
			return err
		}
		return c.addProfile(s, profile)
	})
}

func (c *collector) readLabel(s *Series, content []byte) error {
	var name, value []byte
	err := eachMessage(content, labelName, "label name", func(content []byte) error {
		name = content
		return nil
	})
	if err != nil {
		return err
	}
	err = eachMessage(content, labelValue, "label value", func(content []byte) error {
		value = content
		return nil
	})
	if err != nil {
		return err
	}
	// Check the limits before copying.
	if len(name) > label.MaxNameBytes || len(value) > label.MaxValueBytes {
		name, value = name[:min(len(name), label.MaxNameBytes+1)], value[:min(len(value), label.MaxValueBytes+1)]
	}
	return c.addLabel(s, string(name), string(value))
}

// eachMessage calls f with each length-delimited field of this number, and skips other fields.
func eachMessage(message []byte, number fieldNumber, name string, f func(content []byte) error) error {
	for len(message) > 0 {
		found, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			return malformed("cannot read a tag beside %s: %w", name, protowire.ParseError(n))
		}
		message = message[n:]
		if found != number {
			if n = protowire.ConsumeFieldValue(found, kind, message); n < 0 {
				return malformed("cannot skip field %d beside %s: %w", found, name, protowire.ParseError(n))
			}
			message = message[n:]
			continue
		}
		if kind != protowire.BytesType {
			return malformed("field %d, %s, has wire type %d, it must be %d", found, name, kind, protowire.BytesType)
		}
		content, n := protowire.ConsumeBytes(message)
		if n < 0 {
			return malformed("cannot read field %d, %s: %w", found, name, protowire.ParseError(n))
		}
		message = message[n:]
		if err := f(content); err != nil {
			return err
		}
	}
	return nil
}
