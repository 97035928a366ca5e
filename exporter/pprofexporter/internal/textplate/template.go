// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package textplate fills in text such as "profiles of {service.name}" from a profile and its resource.
package textplate // import "github.com/otelpprof/otelpprof/exporter/pprofexporter/internal/textplate"

import (
	"encoding/hex"
	"errors"
	"strconv"
	"strings"

	"github.com/otelpprof/otelpprof/internal/attributevalue"
	"github.com/otelpprof/otelpprof/internal/configcheck"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

// The placeholders that are no attributes of the resource.
const (
	profileID   = "profile.id"
	profileType = "profile.type"
	profileTime = "time"
)

// Template is text with placeholders.
type Template struct{ pieces []piece }

// piece is literal text, or the key of a placeholder.
type piece struct{ literal, key string }

// Parse reads a template.
func Parse(text string) (*Template, error) {
	t := &Template{}
	for text != "" {
		literal, rest, opened := strings.Cut(text, "{")
		if strings.Contains(literal, "}") {
			return nil, errors.New("has a } without its {")
		}
		if literal != "" {
			t.pieces = append(t.pieces, piece{literal: literal})
		}
		if !opened {
			break
		}
		key, rest, closed := strings.Cut(rest, "}")
		switch {
		case !closed || strings.Contains(key, "{"):
			return nil, errors.New("has a { without its }")
		case key == "":
			return nil, errors.New("has the placeholder {}")
		}
		if err := configcheck.Placeholder(key); err != nil {
			return nil, err
		}
		t.pieces = append(t.pieces, piece{key: key})
		text = rest
	}
	return t, nil
}

// HasPlaceholders tells whether texts differ.
func (t *Template) HasPlaceholders() bool {
	for _, p := range t.pieces {
		if p.key != "" {
			return true
		}
	}
	return false
}

// Fill makes the text. escape is applied to each value. Found is false if a value is missing; it is then unknown, or
// unknown_service.
func (t *Template) Fill(payload *pprof.Payload, escape func(string) string) (text string, found bool) {
	var out strings.Builder
	found = true
	for _, p := range t.pieces {
		if p.key == "" {
			out.WriteString(p.literal)
			continue
		}
		value := valueOf(p.key, payload)
		if value == "" {
			found = false
			value = "unknown"
			if p.key == "service.name" {
				value = "unknown_service"
			}
		}
		out.WriteString(escape(value))
	}
	return out.String(), found
}

func valueOf(key string, payload *pprof.Payload) string {
	switch key {
	case profileID:
		if payload.ProfileID.IsEmpty() {
			return ""
		}
		return hex.EncodeToString(payload.ProfileID[:])
	case profileType:
		return payload.ProfileType
	case profileTime:
		return strconv.FormatUint(uint64(payload.Time), 10)
	}
	value, found := payload.Resource.Attributes().Get(key)
	if !found {
		return ""
	}
	return attributevalue.Text(value)
}
