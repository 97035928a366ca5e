// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package targetdiscoveryextension

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/discovery/targetgroup"
)

const (
	// memoryFactor is the allowed ratio of the memory of an answer to max_response_size.
	memoryFactor = 8
	// groupBytes, targetBytes and labelBytes are the memory of a group, a target and a label, without their texts: mostly that of
	// the maps that Prometheus has for them.
	groupBytes  = 1024
	targetBytes = 512
	labelBytes  = 128
)

// groupReader reads groups of targets and counts their memory.
type groupReader struct {
	*json.Decoder
	limit, used int64
}

// newGroupReader returns a reader of the groups of an answer, a list in JSON, which may take so many bytes of memory.
func newGroupReader(answer io.Reader, limit int64) *groupReader {
	return &groupReader{Decoder: json.NewDecoder(answer), limit: limit}
}

func (r *groupReader) groups() ([]*targetgroup.Group, error) {
	var groups []*targetgroup.Group
	err := r.each('[', func() error {
		group, err := r.group()
		groups = append(groups, group)
		return err
	})
	if err != nil {
		return nil, err
	}
	if _, err := r.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.Join(errors.New("something follows the list of groups"), err)
	}
	return groups, nil
}

// each reads a list or an object, and calls read for each of its elements. null is an empty one.
func (r *groupReader) each(opening json.Delim, read func() error) error {
	token, err := r.next()
	if err != nil || token == nil {
		return err
	}
	if token != opening {
		return fmt.Errorf("%v instead of %v at byte %d", token, opening, r.InputOffset())
	}
	for r.More() {
		if err := read(); err != nil {
			return err
		}
	}
	_, err = r.next()
	return err
}

// next returns the next token. The answer must not end before it.
func (r *groupReader) next() (json.Token, error) {
	token, err := r.Token()
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return token, err
}

func (r *groupReader) group() (*targetgroup.Group, error) {
	group := &targetgroup.Group{Labels: model.LabelSet{}}
	if err := r.count(groupBytes, ""); err != nil {
		return nil, err
	}
	return group, r.each('{', func() error {
		name, err := r.text(0)
		switch {
		case err != nil:
			return err
		case strings.EqualFold(name, "targets"):
			return r.each('[', func() error {
				address, err := r.text(targetBytes)
				group.Targets = append(group.Targets, model.LabelSet{model.AddressLabel: model.LabelValue(address)})
				return err
			})
		case strings.EqualFold(name, "labels"):
			return r.each('{', func() error {
				label, err := r.text(labelBytes)
				if err != nil {
					return err
				}
				if !model.UTF8Validation.IsValidLabelName(label) {
					return fmt.Errorf("%.100q is not a valid label name", label)
				}
				value, err := r.text(0)
				group.Labels[model.LabelName(label)] = model.LabelValue(value)
				return err
			})
		default:
			return fmt.Errorf("a group has targets and labels, not %.100q", name)
		}
	})
}

// text reads a text, whose memory is that of its bytes and of what holds it.
func (r *groupReader) text(holder int64) (string, error) {
	token, err := r.next()
	if err != nil {
		return "", err
	}
	text, isText := token.(string)
	if !isText {
		return "", fmt.Errorf("%v instead of a text at byte %d", token, r.InputOffset())
	}
	return text, r.count(holder, text)
}

// count counts memory before it is taken.
func (r *groupReader) count(bytes int64, text string) error {
	if r.used += bytes + int64(len(text)); r.used > r.limit {
		return fmt.Errorf("it needs more than %d bytes of memory, %d times max_response_size", r.limit, memoryFactor)
	}
	return nil
}
