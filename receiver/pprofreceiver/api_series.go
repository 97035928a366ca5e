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
}

var (
	// pushMessage is the request of push.v1.PusherService/Push.
	pushMessage = messageKind{series: 1}
	// writeRawMessage is the request of parca.profilestore.v1alpha1.ProfileStoreService/WriteRaw.
	writeRawMessage = messageKind{series: 2, labelSet: true}
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

func (c *seriesCollector) begin() (*series, error) {
	if len(c.series) == c.limit {
		return nil, newRefusal(tooLarge, "message too large: more than %d series", c.limit)
	}
	c.series = append(c.series, series{})
	return &c.series[len(c.series)-1], nil
}

// addLabel adds a label of a series, unless a limit is exceeded.
func (c *seriesCollector) addLabel(s *series, name, value string) (err error) {
	if err := c.memory.Use(int64(labelBytes + len(name) + len(value))); err != nil {
		return err
	}
	s.labels, err = appendLabel(s.labels, name, value)
	return err
}

func (c *seriesCollector) addProfile(s *series, profile []byte) error {
	if c.profiles == c.limit {
		return newRefusal(tooLarge, "message too large: more than %d profiles", c.limit)
	}
	c.profiles++
	s.profiles = append(s.profiles, profile)
	return nil
}

// errMalformedMessage is the error for a message that cannot be parsed. A scanner of JSON wraps it.
var errMalformedMessage = newRefusal(malformed, "malformed message")

func malformedMessage(format string, args ...any) error {
	return newRefusal(malformed, "malformed message: "+format, args...)
}
