// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pathname

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

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
	safe := strings.Map(safeRune, value)
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
	hash := sha256.Sum256([]byte(value))
	return shorten(safe, limit-hashLength) + mark + hex.EncodeToString(hash[:])[:hashDigits]
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

// shorten cuts s to at most limit bytes. It does not cut inside a character.
func shorten(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit]
}
