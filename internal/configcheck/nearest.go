// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package configcheck

import "strings"

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
