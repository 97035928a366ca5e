// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package push

import (
	"bytes"

	"github.com/otelpprof/otelpprof/internal/jsonscan"
)

// notASCII stands for what is neither in a name nor in base64.
const notASCII = 0x7f

// unescape replaces the escapes in raw, which [jsonscan.Scanner.Literal] has checked, in place. Those that mean no
// printable character of ASCII and no line end become notASCII.
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
