// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package configcheck

import (
	"fmt"
	"slices"
	"strings"
)

// placeholders are the special placeholders and the most common attribute.
var placeholders = []string{"time", "profile.id", "profile.type", "service.name"}

// mistaken maps words that other systems use to our placeholders.
var mistaken = map[string]string{
	"date": "time", "timestamp": "time", "id": "profile.id", "type": "profile.type", "profile": "profile.type", "service": "service.name",
}

// Placeholder checks the key of a placeholder. Any resource attribute may be a key. So it only returns an error for keys that
// resemble another placeholder, and for unknown keys that begin with "profile.".
func Placeholder(key string) error {
	if slices.Contains(placeholders, key) {
		return nil
	}
	meant := mistaken[key]
	if meant == "" {
		meant = Nearest(strings.ReplaceAll(key, "_", "."), placeholders, min(2, len(key)/4))
	}
	switch {
	case meant != "":
		return fmt.Errorf("has the unknown placeholder {%s}, did you mean {%s}?", key, meant)
	case strings.HasPrefix(key, "profile."):
		return fmt.Errorf("has the unknown placeholder {%s}: want {time}, {profile.id}, {profile.type} or a resource attribute's key", key)
	}
	return nil
}
