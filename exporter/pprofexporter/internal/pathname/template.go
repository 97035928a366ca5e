// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pathname

import (
	"encoding/hex"
	"fmt"
	"regexp"
	"strings"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/exporter/pprofexporter/internal/placeholder"
	"github.com/otelpprof/otelpprof/internal/attributevalue"
)

// Suffix is how every path ends.
const Suffix = ".pb.gz"

// timeLayout sorts by time, has no colon, and is always UTC.
const timeLayout = "20060102T150405.000000000Z"

// Template makes paths. Safe for concurrent use.
type Template struct {
	segments [][]piece
	pattern  *regexp.Regexp
}

// piece is one part of a segment: literal text, or a placeholder.
type piece struct {
	literal string
	key     string // of the placeholder; empty for literal text
	limit   int    // bytes that the placeholder's value may take
}

// Values are what stands in for the placeholders.
type Values struct {
	Resource    pcommon.Map
	ProfileType string
	ProfileID   pprofile.ProfileID
	Time        pcommon.Timestamp
}

// Depth is the number of segments of each path: one more than the directories.
func (t *Template) Depth() int { return len(t.segments) }

// Path makes the path, with slashes. foldCase says that the file system does not tell A from a.
func (t *Template) Path(values Values, foldCase bool) string {
	var path strings.Builder
	for i, segment := range t.segments {
		if i > 0 {
			path.WriteByte('/')
		}
		for _, p := range segment {
			path.WriteString(p.text(values, foldCase))
		}
	}
	return path.String()
}

// Matches tells whether Path can have made this path, with or without what [WithSuffix] adds.
func (t *Template) Matches(path string) bool { return t.pattern.MatchString(path) }

// WithSuffix puts the first 16 hexadecimal digits of a digest before the .pb.gz of a path. Room for it is kept.
func WithSuffix(path string, digest [32]byte) string {
	return strings.TrimSuffix(path, Suffix) + mark + hex.EncodeToString(digest[:8]) + Suffix
}

// suffixLength is what WithSuffix adds.
const suffixLength = len(mark) + 16

func (p piece) text(values Values, foldCase bool) string {
	switch p.key {
	case "":
		return p.literal
	case placeholder.ProfileID:
		return hex.EncodeToString(values.ProfileID[:])
	case placeholder.ProfileTime:
		const second = uint64(time.Second)
		nanos := uint64(values.Time)
		return time.Unix(int64(nanos/second), int64(nanos%second)).UTC().Format(timeLayout)
	case placeholder.ProfileType:
		return clean(placeholder.OrUnknown(p.key, values.ProfileType), p.limit, foldCase)
	}
	var text string
	if value, found := values.Resource.Get(p.key); found {
		text = attributevalue.Text(value)
	}
	return clean(placeholder.OrUnknown(p.key, text), p.limit, foldCase)
}

// fixedLength is the length of a piece whose text has always the same, else 0.
func (p piece) fixedLength() int {
	switch p.key {
	case "":
		return len(p.literal)
	case placeholder.ProfileID:
		return 2 * len(pprofile.ProfileID{})
	case placeholder.ProfileTime:
		return len(timeLayout)
	}
	return 0
}

// expression is the regular expression of all texts that the piece can have.
func (p piece) expression() string {
	switch p.key {
	case "":
		return regexp.QuoteMeta(p.literal)
	case placeholder.ProfileID:
		return fmt.Sprintf("[0-9a-f]{%d}", p.fixedLength())
	case placeholder.ProfileTime:
		return `\d{8}T\d{6}\.\d{9}Z`
	}
	return `[^/.][^/]*`
}
