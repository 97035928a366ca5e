// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pathname

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/otelpprof/otelpprof/exporter/internal/placeholder"
)

const (
	// maxSegment is the maximum length of a file name on common file systems, in bytes.
	maxSegment = 255
	// minValue is the minimum length limit of a value, so that a part of it stays readable beside the hash.
	minValue = 32
)

// Parse reads a template: text with placeholders in braces, and slashes between its segments. It refuses templates whose paths could
// leave the directory, be hidden, or be invalid file names.
func Parse(text string) (*Template, error) {
	switch {
	case !utf8.ValidString(text):
		return nil, errors.New("is not UTF-8")
	case strings.HasPrefix(text, "/"):
		return nil, errors.New("must be relative, it begins with a slash")
	}
	segments, err := split(text)
	if err != nil {
		return nil, err
	}
	for i, segment := range segments {
		last := i == len(segments)-1
		if err := checkLiterals(segment, last); err != nil {
			return nil, fmt.Errorf("segment %d: %w", i+1, err)
		}
		if err := setLimits(segment, last); err != nil {
			return nil, fmt.Errorf("segment %d: %w", i+1, err)
		}
	}
	return &Template{segments: segments, pattern: pattern(segments)}, nil
}

// split splits text into segments, and each segment into pieces. A slash inside of braces belongs to the placeholder.
func split(text string) ([][]piece, error) {
	template, err := placeholder.Parse(text)
	segments := [][]piece{nil}
	for _, p := range template {
		if p.Key != "" {
			last := &segments[len(segments)-1]
			*last = append(*last, piece{key: p.Key})
			continue
		}
		for i, literal := range strings.Split(p.Literal, "/") {
			if i > 0 {
				segments = append(segments, nil)
			}
			if last := &segments[len(segments)-1]; literal != "" {
				*last = append(*last, piece{literal: literal})
			}
		}
	}
	return segments, err
}

// checkLiterals returns an error if the literal text of a segment is not allowed in a path.
func checkLiterals(segment []piece, last bool) error {
	if len(segment) == 0 {
		return errors.New("is empty")
	}
	for _, p := range segment {
		if strings.ContainsAny(p.literal, `\<>:"|?*`) || strings.ContainsFunc(p.literal, unicode.IsControl) {
			return fmt.Errorf(`%q has a character that is not allowed in file names: \ < > : " | ? * or a control character`, p.literal)
		}
	}
	first, end := segment[0].literal, segment[len(segment)-1].literal
	switch {
	case first == "." || first == "..":
		return fmt.Errorf("%q would leave the directory", first)
	case strings.HasPrefix(first, "."):
		return fmt.Errorf("%q begins with a dot, like temporary and hidden files", first)
	case last && !strings.HasSuffix(end, Suffix):
		return errors.New("must end in " + Suffix)
	case strings.HasSuffix(end, ".") || strings.HasSuffix(end, " "):
		return fmt.Errorf("%q ends in a dot or blank, which Windows drops", end)
	}
	return nil
}

// setLimits divides the bytes of a segment among its placeholders.
func setLimits(segment []piece, last bool) error {
	free, values := maxSegment, 0
	if last {
		free -= suffixLength
	}
	for _, p := range segment {
		_, length := p.form()
		free -= length
		if length == 0 {
			values++
		}
	}
	if free < values*minValue {
		return fmt.Errorf("is too long: a file name has at most %d bytes, which leaves %d for its %d values, and each value needs %d",
			maxSegment, max(free, 0), values, minValue)
	}
	for i, p := range segment {
		if _, length := p.form(); length == 0 {
			segment[i].limit = free / values
		}
	}
	return nil
}

// pattern returns a regular expression that matches all paths of a template.
func pattern(segments [][]piece) *regexp.Regexp {
	names := make([]string, len(segments))
	for i, segment := range segments {
		for _, p := range segment {
			expression, _ := p.form()
			names[i] += expression
		}
	}
	quoted := regexp.QuoteMeta(Suffix)
	path := strings.TrimSuffix(strings.Join(names, "/"), quoted)
	return regexp.MustCompile(fmt.Sprintf(`^%s(?:%s[0-9a-f]{16})?%s$`, path, mark, quoted))
}
