// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package pathname builds safe file paths from untrusted attribute values.
//
// A [Template] such as "{service.name}/{time}-{profile.id}.pb.gz" is parsed and checked once. For each resource, [Paths.Path]
// returns a relative path that has as many segments as the template. No segment is empty, hidden, "..", longer than 255 bytes, or
// invalid on a common file system. A value that had to be changed ends in a hash of the original, so that different values have
// different paths. [Template.Matches] returns whether the template can return a path.
package pathname // import "github.com/otelpprof/otelpprof/exporter/internal/pathname"

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
	"unsafe"

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

// Paths builds the paths of one message. It remembers the parts that come from the last resource, and from long values: to hash a
// value of many MiB for each resource or profile would take long. Not safe for concurrent use.
type Paths struct {
	template *Template
	foldCase bool
	// resource are the attributes to which the parts in attributes belong.
	resource   pcommon.Map
	attributes map[piece]string
	long       map[longPart]string
}

// longPart is a placeholder with a long value.
type longPart struct {
	piece
	value string
}

// longValue is the length from which values are remembered. Shorter ones need less time than memory.
const longValue = 4 << 10

// Paths returns what builds the paths of one message. foldCase means that A and a are the same name in the file system.
func (t *Template) Paths(foldCase bool) *Paths {
	return &Paths{template: t, foldCase: foldCase, attributes: map[piece]string{}, long: map[longPart]string{}}
}

// Path returns the path, with slashes. The attributes must not change between calls.
func (t *Paths) Path(values Values) string {
	if t.resource != values.Resource {
		t.resource = values.Resource
		clear(t.attributes)
	}
	var path strings.Builder
	for i, segment := range t.template.segments {
		if i > 0 {
			path.WriteByte('/')
		}
		for _, p := range segment {
			path.WriteString(t.text(p, values))
		}
	}
	return path.String()
}

// Matches returns whether [Paths.Path] can return this path, with or without the suffix of [WithSuffix].
func (t *Template) Matches(path string) bool { return t.pattern.MatchString(path) }

// WithSuffix inserts the first 16 hexadecimal digits of a digest before the .pb.gz of a path. The limits of the template leave space
// for them.
func WithSuffix(path string, digest [32]byte) string {
	return strings.TrimSuffix(path, Suffix) + mark + hex.EncodeToString(digest[:8]) + Suffix
}

// suffixLength is the number of bytes that WithSuffix adds.
const suffixLength = len(mark) + 16

// text returns the text of a piece.
func (t *Paths) text(p piece, values Values) string {
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
		return t.clean(p, values.ProfileType)
	}
	text, known := t.attributes[p]
	if !known {
		value, found := values.Resource.Get(p.key)
		switch {
		case !found:
			text = t.clean(p, "")
		case value.Type() == pcommon.ValueTypeStr:
			text = t.clean(p, value.Str())
		default: // The text is made for the path, and not kept.
			text = clean(placeholder.OrUnknown(p.key, attributevalue.Text(value)), p.limit, t.foldCase)
		}
		t.attributes[p] = text
	}
	return text
}

func (t *Paths) clean(p piece, value string) string {
	if len(value) < longValue {
		return clean(placeholder.OrUnknown(p.key, value), p.limit, t.foldCase)
	}
	part := longPart{p, value}
	text, known := t.long[part]
	if !known {
		text = clean(value, p.limit, t.foldCase)
		t.long[part] = text
	}
	return text
}

// form returns a regular expression that matches all texts of a piece, and their length, or 0 if it differs.
func (p piece) form() (expression string, length int) {
	switch p.key {
	case "":
		return regexp.QuoteMeta(p.literal), len(p.literal)
	case placeholder.ProfileID:
		return "[0-9a-f]{32}", 2 * len(pprofile.ProfileID{})
	case placeholder.ProfileTime:
		return `\d{8}T\d{6}\.\d{9}Z`, len(timeLayout)
	}
	return `[^/.][^/]*`, 0
}

// A changed value ends in mark and hashDigits hexadecimal digits. An unchanged value never has the mark, so that it cannot equal a
// changed one.
const (
	mark       = "~"
	hashDigits = 12
	hashLength = len(mark) + hashDigits
)

// devices are the names that Windows reserves for devices in every directory, with and without an extension.
var devices = []string{"con", "prn", "aux", "nul", "com", "lpt"}

// clean turns value into a part of a file name with at most limit bytes. A value of ASCII letters, digits and .-_+=@, does not
// change. In any other value, clean replaces the unsafe characters and appends a hash of the value, so that different values have
// different results. foldCase is for file systems on which A and a are the same name: there, values with upper case letters get
// the hash too.
//
// value must not be empty. limit must be greater than hashLength.
func clean(value string, limit int, foldCase bool) string {
	safe := strings.Map(safeRune, value[:min(len(value), limit*utf8.UTFMax)]) // Of a longer value, no more is visible.
	switch safe[0] {
	case '.', '-':
		safe = "_" + safe[1:]
	}
	if strings.HasSuffix(safe, ".") { // Windows would drop it
		safe = safe[:len(safe)-1] + "_"
	}
	if isDevice(safe) {
		safe = "_" + safe
	}
	if safe == value && len(value) <= limit && isASCII(value) && (!foldCase || strings.ToLower(value) == value) {
		return value
	}
	digest := sha256.Sum256(unsafe.Slice(unsafe.StringData(value), len(value))) //nolint:gosec // It is only read. A copy would need memory.
	return attributevalue.Cut(safe, limit-hashLength) + mark + hex.EncodeToString(digest[:])[:hashDigits]
}

// safeRune replaces the characters that are unsafe or inconvenient in a file name: separators, control characters, blanks, quotes,
// the special characters of shells and of Windows, and bytes that are not UTF-8.
func safeRune(r rune) rune {
	switch {
	case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', strings.ContainsRune(".-_+=@,", r):
		return r
	case r > unicode.MaxASCII && unicode.In(r, unicode.Letter, unicode.Mark, unicode.Digit):
		return r
	}
	return '_'
}

// isASCII returns whether s is ASCII. Other text can have several spellings in Unicode, which some file systems treat as one name.
func isASCII(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r > unicode.MaxASCII }) < 0
}

func isDevice(name string) bool {
	base, _, _ := strings.Cut(strings.ToLower(name), ".")
	if len(base) == 4 && base[3] >= '0' && base[3] <= '9' {
		return slices.Contains(devices[4:], base[:3])
	}
	return slices.Contains(devices[:4], base)
}
