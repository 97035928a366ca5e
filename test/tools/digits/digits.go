// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package digits writes numbers for people, in the tables of docs/performance.md.
package digits // import "github.com/otelpprof/otelpprof/test/tools/digits"

import (
	"strconv"
	"strings"
)

// Group groups the digits of a number by thousands: 12,345,678.
func Group(n int64) string {
	text, negative := strings.CutPrefix(strconv.FormatInt(n, 10), "-")
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	if negative {
		return "-" + text
	}
	return text
}
