// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package placeholder parses text such as "profiles of {service.name}", and replaces the placeholders with values of a profile and
// its resource.
package placeholder // import "github.com/otelpprof/otelpprof/exporter/internal/placeholder"

import (
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/otelpprof/otelpprof/exporter/internal/series"
	"github.com/otelpprof/otelpprof/internal/attributevalue"
	"github.com/otelpprof/otelpprof/internal/configcheck"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

// The placeholders that are not attributes of the resource.
const (
	ProfileID   = "profile.id"
	ProfileType = "profile.type"
	ProfileTime = "time"
)

// Template is text with placeholders.
type Template []Piece

// Piece is literal text, or the key of a placeholder.
type Piece struct{ Literal, Key string }

// Parse reads a template.
func Parse(text string) (Template, error) {
	var t Template
	for text != "" {
		literal, rest, opened := strings.Cut(text, "{")
		if strings.Contains(literal, "}") {
			return nil, errors.New("has a } without a {")
		}
		if literal != "" {
			t = append(t, Piece{Literal: literal})
		}
		if !opened {
			break
		}
		key, rest, closed := strings.Cut(rest, "}")
		switch {
		case !closed || strings.Contains(key, "{"):
			return nil, errors.New("has a { without a }")
		case key == "" || key != strings.TrimSpace(key) || strings.ContainsFunc(key, unicode.IsControl):
			return nil, fmt.Errorf("has the placeholder {%s}: it must be {time}, {profile.id}, {profile.type} or the key of a resource attribute", key)
		}
		if err := configcheck.Placeholder(key); err != nil {
			return nil, err
		}
		t = append(t, Piece{Key: key})
		text = rest
	}
	return t, nil
}

// HasPlaceholders returns whether the template has a placeholder.
func (t Template) HasPlaceholders() bool {
	return slices.ContainsFunc(t, func(p Piece) bool { return p.Key != "" })
}

// Fill returns the text with the values of payload, each changed by escape. If a value is missing, found is false, and the text has
// unknown or unknown_service in its place.
func (t Template) Fill(payload *pprof.Payload, escape func(string) string) (text string, found bool) {
	var out strings.Builder
	found = true
	for _, p := range t {
		if p.Key == "" {
			out.WriteString(p.Literal)
			continue
		}
		value := valueOf(p.Key, payload)
		found = found && value != ""
		out.WriteString(escape(OrUnknown(p.Key, value)))
	}
	return out.String(), found
}

func valueOf(key string, payload *pprof.Payload) string {
	switch key {
	case ProfileID:
		if payload.ProfileID.IsEmpty() {
			return ""
		}
		return hex.EncodeToString(payload.ProfileID[:])
	case ProfileType:
		return series.Kind(payload.ProfileType)
	case ProfileTime:
		return strconv.FormatUint(uint64(payload.Time), 10)
	}
	value, found := payload.Resource.Attributes().Get(key)
	if !found {
		return ""
	}
	return attributevalue.Text(value)
}

// OrUnknown returns value. If it is empty, OrUnknown returns unknown_service for the placeholder service.name, and unknown for all
// others.
func OrUnknown(key, value string) string {
	switch {
	case value != "":
		return value
	case key == attributevalue.ServiceName:
		return attributevalue.UnknownService
	}
	return "unknown"
}
