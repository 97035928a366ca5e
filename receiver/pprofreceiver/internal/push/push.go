// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package push parses the messages in which clients push series of profiles with labels: Pyroscope's PushRequest and
// Parca's WriteRawRequest, in protobuf and JSON. It parses them in place and under limits, and skips unknown fields.
package push

import (
	"errors"
	"fmt"
	"unsafe"

	"github.com/otelpprof/otelpprof/internal/memory/meter"
	"github.com/otelpprof/otelpprof/receiver/pprofreceiver/internal/label"
)

var (
	// ErrMalformed reports that a message cannot be parsed.
	ErrMalformed = errors.New("malformed message")
	// ErrTooLarge reports that a limit is exceeded.
	ErrTooLarge = errors.New("message too large")
)

// Series is a list of profiles with the same labels.
type Series struct {
	Labels []label.Label
	// Profiles are pprofs, compressed or not. They refer to memory of the message.
	Profiles [][]byte
}

// Message is a type of message.
type Message struct {
	series fieldNumber
	// labelSet is true if the labels of a series are in a nested message.
	labelSet bool
}

var (
	// PushRequest is the request of push.v1.PusherService/Push.
	PushRequest = Message{series: 1}
	// WriteRawRequest is the request of parca.profilestore.v1alpha1.ProfileStoreService/WriteRaw.
	WriteRawRequest = Message{series: 2, labelSet: true}
)

// Limits limits a message. MaxProfiles applies to all series together.
type Limits struct {
	MaxSeries   int
	MaxProfiles int
	// Memory counts each label. Its error is returned unchanged, also while JSON is read.
	Memory *meter.Meter
}

// labelBytes is the memory of a label without its text.
const labelBytes = int(unsafe.Sizeof(label.Label{}))

// collector has the series that were read so far.
type collector struct {
	limits   Limits
	series   []Series
	profiles int
}

func (c *collector) begin() (*Series, error) {
	if len(c.series) == c.limits.MaxSeries {
		return nil, fmt.Errorf("%w: more than %d series", ErrTooLarge, c.limits.MaxSeries)
	}
	c.series = append(c.series, Series{})
	return &c.series[len(c.series)-1], nil
}

// addLabel adds a label of a series, unless a limit is exceeded.
func (c *collector) addLabel(s *Series, name, value string) (err error) {
	if err := c.limits.Memory.Use(int64(labelBytes + len(name) + len(value))); err != nil {
		return err
	}
	s.Labels, err = label.Append(s.Labels, name, value)
	return err
}

func (c *collector) addProfile(s *Series, profile []byte) error {
	if c.profiles == c.limits.MaxProfiles {
		return fmt.Errorf("%w: more than %d profiles", ErrTooLarge, c.limits.MaxProfiles)
	}
	c.profiles++
	s.Profiles = append(s.Profiles, profile)
	return nil
}

func malformed(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrMalformed, fmt.Errorf(format, args...))
}
