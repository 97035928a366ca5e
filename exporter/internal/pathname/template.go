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

	"github.com/otelpprof/otelpprof/exporter/internal/placeholder"
	"github.com/otelpprof/otelpprof/internal/attributevalue"
)

// Suffix is the end of every path.
const Suffix = ".pb.gz"

// timeLayout sorts by time, has no colon, and is always UTC.
const timeLayout = "20060102T150405.000000000Z"

// Template builds paths. Safe for concurrent use.
type Template struct {
	segments [][]piece
	pattern  *regexp.Regexp
}

// piece is one part of a segment: literal text, or a placeholder.
type piece struct {
	literal string
	key     string // of the placeholder; empty for literal text
	limit   int    // maximum bytes of the placeholder's value
}

// Values are the values of the placeholders.
type Values struct {
	Resource    pcommon.Map
	ProfileType string
	ProfileID   pprofile.ProfileID
	Time        pcommon.Timestamp
}

// Depth returns the number of segments of each path: its directories and the file.
func (t *Template) Depth() int { return len(t.segments) }

// Path returns the path, with slashes. foldCase means that A and a are the same name in the file system.
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

// Matches returns whether Path can return this path, with or without the suffix of [WithSuffix].
func (t *Template) Matches(path string) bool { return t.pattern.MatchString(path) }

// WithSuffix inserts the first 16 hexadecimal digits of a digest before the .pb.gz of a path. The limits of the template leave space
// for them.
func WithSuffix(path string, digest [32]byte) string {
	return strings.TrimSuffix(path, Suffix) + mark + hex.EncodeToString(digest[:8]) + Suffix
}

// suffixLength is the number of bytes that WithSuffix adds.
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

// fixedLength returns the length of a piece whose text always has the same length, and 0 for any other piece.
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

// expression returns a regular expression that matches all texts of the piece.
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
