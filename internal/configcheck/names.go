// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package configcheck

import (
	"fmt"
	"slices"
	"strings"
)

// maxParameterName limits how much of an unknown name is compared.
const maxParameterName = 64

// Parameter returns an error for a query parameter that is not known, with the most similar one. A known name that ends with a dot
// stands for all names with that prefix.
func Parameter(name string, known []string) error {
	for _, one := range known {
		if key, found := strings.CutPrefix(name, one); found && (key == "") != strings.HasSuffix(one, ".") {
			return nil
		}
	}
	compared := name[:min(len(name), maxParameterName)]
	if meant := nearest(compared, known, max(1, len(compared)/3)); meant != "" {
		return fmt.Errorf("%.40q is not a parameter here, did you mean %q?", name, meant)
	}
	return fmt.Errorf("%.40q is not a parameter here, the known ones are %s", name, strings.Join(known, ", "))
}

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

// nearest returns the known word with the most similar spelling. A known word that begins with word and "_" counts as very
// similar. It returns "" if all known words differ by more than maxDistance letters.
func nearest(word string, known []string, maxDistance int) string {
	if word == "" {
		return ""
	}
	found, least := "", maxDistance+1
	for _, candidate := range known {
		d := distance(word, candidate)
		if word[:1] != candidate[:1] { // A different first letter usually means a different word, such as exclude and include.
			d++
		}
		if strings.HasPrefix(candidate, word+"_") {
			d = min(d, 1)
		}
		if d < least {
			found, least = candidate, d
		}
	}
	return found
}

// distance returns the Levenshtein distance: the number of bytes to insert, delete or replace to change one word into the
// other.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}
