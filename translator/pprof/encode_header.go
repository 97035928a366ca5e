// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprof

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/otelpprof/otelpprof/internal/attributevalue"
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
func (t *encoding) writeHeader(g *group, resource pcommon.Resource, scope pcommon.InstrumentationScope) error {
	periodType := t.valueType(g.key.periodType)
	h := pprofwire.Header{
		TimeNanos:     nanos(g.key.time),
		DurationNanos: nanos(g.key.duration),
		Period:        g.key.period,
	}
	if name, found := scope.Attributes().Get(semconv.ScopeDefaultSampleType); found {
		h.DefaultSampleType = t.localText(attributevalue.Text(name))
	}
	comments, err := t.commentsOf(g)
	if err != nil {
		return err
	}
	h.Comments = comments
	for _, a := range t.sets.At(g.key.attributes) {
		attribute := t.dict.AttributeAt(a)
		if t.isMainMapping(attribute) {
			continue // It is the first mapping.
		}
		text := t.localText
		switch key := t.dict.StringAt(attribute.Key); key {
		case semconv.ProfileDropFrames:
			h.DropFrames = text(attribute.AsString())
		case semconv.ProfileKeepFrames:
			h.KeepFrames = text(attribute.AsString())
		case semconv.ProfileDocURL:
			h.DocURL = text(attribute.AsString())
		case semconv.ProfileName:
			// Backends display it.
		default:
			h.Comments = append(h.Comments, text(key+"="+attribute.AsString()))
			if attribute.Unit != 0 {
				t.labels.lostUnits++
			}
		}
	}
	if t.opts.ResourceComments {
		for _, comment := range resourceComments(resource.Attributes()) {
			h.Comments = append(h.Comments, t.localText(comment))
		}
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

func (t *encoding) localText(s string) uint32 { return t.locals.string(t.dict.String(s)) }

// isComment reports whether an attribute is a comment, in the current form or in the older one, which has a number in its
// key.
func isComment(key string) bool {
	rest, found := strings.CutPrefix(key, semconv.ProfileComment)
	return found && (rest == "" || rest[0] == '.')
}

// commentsOf returns the comments of all profiles of a group. If several profiles have the same attribute, it counts once.
func (t *encoding) commentsOf(g *group) (comments []uint32, err error) {
	var known map[int32]bool
	for _, p := range g.profiles {
		var attributes []int32
		for _, a := range t.sets.At(p.comments) {
			if known[a] {
				continue
			}
			if known == nil {
				known = map[int32]bool{}
			}
			known[a] = true
			if err := t.labels.countItems(t.dict.AttributeAt(a)); err != nil {
				return nil, err
			}
			attributes = append(attributes, a)
		}
		comments = t.appendComments(comments, attributes)
	}
	return comments, nil
}

// appendComments appends the comments of a profile in their order. In the older form, their keys have the order.
func (t *encoding) appendComments(comments []uint32, attributes []int32) []uint32 {
	slices.SortStableFunc(attributes, func(a, b int32) int {
		return cmp.Compare(t.commentNumber(a), t.commentNumber(b))
	})
	for _, a := range attributes {
		attribute := t.dict.AttributeAt(a)
		if attribute.Kind != pcommon.ValueTypeSlice {
			comments = append(comments, t.localText(attribute.AsString()))
			continue
		}
		for _, item := range attribute.Value.Slice().All() {
			comments = append(comments, t.localText(attributevalue.Text(item)))
		}
	}
	return comments
}

// commentNumber returns the number in the key of a comment, or -1.
func (t *encoding) commentNumber(a int32) int {
	rest := strings.TrimPrefix(t.dict.StringAt(t.dict.AttributeAt(a).Key), semconv.ProfileComment)
	n, err := strconv.Atoi(strings.TrimPrefix(rest, "."))
	if err != nil {
		return -1
	}
	return n
}
