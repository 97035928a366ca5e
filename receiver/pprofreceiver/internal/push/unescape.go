// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package push

import (
	"bytes"

	"github.com/otelpprof/otelpprof/internal/wire/jsonscan"
)

// notASCII replaces characters that occur neither in names nor in base64.
const notASCII = 0x7f

// unescape replaces the escapes in raw in place. [jsonscan.Scanner.Literal] must have checked raw. Characters other than
// printable ASCII and line breaks become notASCII.
func unescape(raw []byte) []byte {
	n := bytes.IndexByte(raw, '\\')
	if n < 0 {
		return raw
	}
	for i := n; i < len(raw); i++ {
		c := raw[i]
		if c == '\\' {
			i++
			switch c = raw[i]; c {
			case '"', '\\', '/':
			case 'n', 'r':
				c = '\n'
			case 'u':
				value := 0
				for _, digit := range raw[i+1 : i+5] {
					value = value<<4 | jsonscan.HexValue(digit)
				}
				c = byte(min(value, notASCII))
				i += 4
			default:
				c = notASCII
			}
		}
		raw[n] = c
		n++
	}
	return raw[:n]
}
