// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package configcheck

import (
	"fmt"
	"slices"
	"strings"
)

// placeholders has the placeholders that are not attributes, and the most common attribute.
var placeholders = []string{"time", "profile.id", "profile.type", "service.name"}

// synonyms maps the names that other systems use to our placeholders.
var synonyms = map[string]string{
	"date": "time", "timestamp": "time", "id": "profile.id", "type": "profile.type", "profile": "profile.type", "service": "service.name",
}

// Placeholder checks the key of a placeholder. Any resource attribute may be a key. So it returns an error only for a key that
// resembles another placeholder, and for an unknown key that begins with "profile.".
func Placeholder(key string) error {
	if slices.Contains(placeholders, key) {
		return nil
	}
	suggestion := synonyms[key]
	if suggestion == "" {
		suggestion = nearest(strings.ReplaceAll(key, "_", "."), placeholders, min(2, len(key)/4))
	}
	switch {
	case suggestion != "":
		return fmt.Errorf("has the unknown placeholder {%s}, did you mean {%s}?", key, suggestion)
	case strings.HasPrefix(key, "profile."):
		return fmt.Errorf("has the unknown placeholder {%s}: want {time}, {profile.id}, {profile.type} or a resource attribute's key", key)
	}
	return nil
}
