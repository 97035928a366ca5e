// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package configcheck

import (
	"fmt"
	"slices"
	"strings"
)

// placeholders are those that have a meaning of their own, and the commonest attribute.
var placeholders = []string{"time", "profile.id", "profile.type", "service.name"}

// mistaken are words that stand for a placeholder in other systems.
var mistaken = map[string]string{
	"date": "time", "timestamp": "time", "id": "profile.id", "type": "profile.type", "profile": "profile.type", "service": "service.name",
}

// Placeholder checks the key in a placeholder. Every attribute of a resource may be one, so it refuses what is almost
// another, and all of profile.* that do not exist.
func Placeholder(key string) error {
	if slices.Contains(placeholders, key) {
		return nil
	}
	meant := mistaken[key]
	if meant == "" {
		meant = nearest(strings.ReplaceAll(key, "_", "."), placeholders, min(2, len(key)/4))
	}
	switch {
	case meant != "":
		return fmt.Errorf("has the unknown placeholder {%s}, did you mean {%s}?", key, meant)
	case strings.HasPrefix(key, "profile."):
		return fmt.Errorf("has the unknown placeholder {%s}: want {time}, {profile.id}, {profile.type} or a resource attribute's key", key)
	}
	return nil
}
