// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprof

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/otelpprof/otelpprof/internal/scratch"
	"github.com/otelpprof/otelpprof/internal/wire/pprofwire"
	"github.com/otelpprof/otelpprof/translator/internal/semconv"
)

// The most bytes that the header needs without comments, and that a comment and a type need.
const (
	maxHeaderBytes  = 4*6 + 3*11 + 6
	maxCommentBytes = 5
	maxTypeBytes    = 2 + 6 + 6
)

// writeHeader appends everything except tables to the tail. It only uses attributes that are in this group's profiles.
func (t *encoding) writeHeader(g *group, resource pcommon.Resource) error {
	periodType := t.valueType(g.key.periodType)
	h := pprofwire.Header{
		TimeNanos:     nanos(g.key.time),
		DurationNanos: nanos(g.key.duration),
		Period:        g.key.period,
	}
	h.DefaultSampleType = t.localText(t.scope.defaultType)
	t.texts.bytes = 0
	if err := t.setComments(&h, g); err != nil {
		return err
	}
	if err := t.setAttributes(&h, g); err != nil {
		return err
	}
	if t.opts.ResourceComments {
		comments, err := t.resourceComments(resource.Attributes())
		if err != nil {
			return err
		}
		t.addComments(&h, comments)
	}
	if err := t.growTail(maxTypeBytes + maxHeaderBytes + maxCommentBytes*len(h.Comments)); err != nil {
		return err
	}
	if g.key.periodType != (typeIndices{}) {
		t.tail = pprofwire.AppendPeriodType(t.tail, periodType)
	}
	t.tail = pprofwire.AppendHeader(t.tail, h)
	return nil
}

// setAttributes sets what the attributes of the profiles of a group become, without their comments.
func (t *encoding) setAttributes(h *pprofwire.Header, g *group) error {
	for _, a := range t.sets.At(g.key.attributes) {
		attribute := t.dict.AttributeAt(a)
		key := t.dict.StringAt(attribute.Key)
		if key == semconv.ProfileName || t.isMainMapping(attribute) {
			continue // Backends display the one, the other is the first mapping.
		}
		var field *uint32
		switch key {
		case semconv.ProfileDropFrames:
			field = &h.DropFrames
		case semconv.ProfileKeepFrames:
			field = &h.KeepFrames
		case semconv.ProfileDocURL:
			field = &h.DocURL
		}
		if field != nil {
			text, err := t.text(a)
			if err != nil {
				return err
			}
			*field = t.locals.string(text)
			continue
		}
		comments, err := t.commentsOf(a)
		if err != nil {
			return err
		}
		t.addComments(h, comments)
		if attribute.Unit != 0 {
			t.labels.lostUnits++
		}
	}
	return nil
}

func (t *encoding) addComments(h *pprofwire.Header, comments []int32) {
	for _, comment := range comments {
		h.Comments = append(h.Comments, t.locals.string(comment))
	}
}

func (t *encoding) localText(s string) uint32 { return t.locals.string(t.dict.String(s)) }

// isComment reports whether an attribute is a comment, in the current form or in the older one, which has a number in its
// key.
func isComment(key string) bool {
	rest, found := strings.CutPrefix(key, semconv.ProfileComment)
	return found && (rest == "" || rest[0] == '.')
}

// setComments sets the comments of all profiles of a group. If several profiles have the same attribute, it counts once.
func (t *encoding) setComments(h *pprofwire.Header, g *group) error {
	var known map[int32]bool
	for _, p := range g.profiles {
		var attributes []int32
		for _, a := range t.sets.At(p.comments) {
			if known[a] {
				continue
			}
			scratch.Store(&known, a, true)
			if err := t.labels.countItems(t.dict.AttributeAt(a)); err != nil {
				return err
			}
			attributes = append(attributes, a)
		}
		// In the older form, the keys have the order.
		slices.SortStableFunc(attributes, func(a, b int32) int {
			return cmp.Compare(t.commentNumber(a), t.commentNumber(b))
		})
		for _, a := range attributes {
			comments, err := t.commentsOf(a)
			if err != nil {
				return err
			}
			t.addComments(h, comments)
		}
	}
	return nil
}

// commentNumber returns the number in the key of a comment, or -1.
func (t *encoding) commentNumber(a int32) int {
	const maxDigits = 19
	rest := strings.TrimPrefix(t.dict.StringAt(t.dict.AttributeAt(a).Key), semconv.ProfileComment)
	digits := strings.TrimPrefix(rest, ".")
	n, err := strconv.Atoi(digits[:min(len(digits), maxDigits)])
	if err != nil || len(digits) > maxDigits {
		return -1
	}
	return n
}
