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

// A changed value ends in mark and hashDigits hexadecimal digits. The mark never stays in a value, so no value that is
// left as it is can look like a changed one.
const (
	mark       = "~"
	hashDigits = 12
	hashLength = len(mark) + hashDigits
)

// devices are the names that Windows takes for devices in every directory, also with an extension.
var devices = []string{"con", "prn", "aux", "nul", "com", "lpt"}

// clean makes of value a piece of a file name that has at most limit bytes. Values that consist of ASCII letters,
// digits and .-_+=@, stay as they are. All others keep what is harmless of them and end in a hash of the value, so that
// equal results mean equal values. foldCase is for file systems on which A and a are the same name: values with upper
// case letters get the hash as well.
//
// value must not be empty; limit must be over hashLength.
func clean(value string, limit int, foldCase bool) string {
	harmless := strings.Map(keep, value)
	switch harmless[0] {
	case '.', '-':
		harmless = "_" + harmless[1:]
	}
	if strings.HasSuffix(harmless, ".") { // Windows would leave it out
		harmless = harmless[:len(harmless)-1] + "_"
	}
	if isDevice(harmless) {
		harmless = "_" + harmless
	}
	if harmless == value && len(value) <= limit && isASCII(value) && (!foldCase || strings.ToLower(value) == value) {
		return value
	}
	hash := sha256.Sum256([]byte(value))
	return shorten(harmless, limit-hashLength) + mark + hex.EncodeToString(hash[:])[:hashDigits]
}

// keep replaces what is unsafe or unwieldy in a file name: separators, control characters, blanks, quotes, what shells
// and Windows give a meaning to, and bytes that are not UTF-8.
func keep(r rune) rune {
	switch {
	case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', strings.ContainsRune(".-_+=@,", r):
		return r
	case r > unicode.MaxASCII && unicode.In(r, unicode.Letter, unicode.Mark, unicode.Digit):
		return r
	}
	return '_'
}

// isASCII is false for names that have several spellings in Unicode, of which some file systems make one.
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

// shorten cuts s to at most limit bytes, between two characters.
func shorten(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit]
}
