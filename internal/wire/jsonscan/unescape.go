// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package jsonscan

import (
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// unescaped are the characters behind a backslash.
var unescaped = map[byte]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// Unescape returns a result of [Scanner.Literal] without its escapes. It allocates as many bytes as raw has. Half of a surrogate pair becomes
// U+FFFD. Bytes that are not UTF-8 stay.
func Unescape(raw []byte) []byte {
	plain := make([]byte, 0, len(raw))
	for i := 0; i < len(raw); i++ {
		if raw[i] != '\\' {
			plain = append(plain, raw[i])
			continue
		}
		i++
		if raw[i] != 'u' {
			plain = append(plain, unescaped[raw[i]])
			continue
		}
		r := codeUnit(raw[i+1:])
		i += 4
		if rest := raw[i+1:]; utf16.IsSurrogate(r) && len(rest) > 1 && rest[0] == '\\' && rest[1] == 'u' {
			if pair := utf16.DecodeRune(r, codeUnit(rest[2:])); pair != utf8.RuneError {
				r = pair
				i += 6
			}
		}
		plain = utf8.AppendRune(plain, r)
	}
	return plain
}

// codeUnit reads the four digits of an escape.
func codeUnit(digits []byte) rune {
	n, _ := strconv.ParseUint(string(digits[:4]), 16, 16) // Literal has checked them.
	return rune(n)
}
