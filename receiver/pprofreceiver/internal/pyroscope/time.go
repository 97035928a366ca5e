// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pyroscope

import (
	"strconv"
	"time"
)

// ParseTime parses the parameters from and until: YYYYMMDD in UTC; seconds, milliseconds, microseconds or nanoseconds
// since 1970. It returns false for anything else, such as now-1h: a retry repeats the words, but later.
func ParseTime(text string) (time.Time, bool) {
	if len(text) == len("20060102") {
		day, err := time.ParseInLocation("20060102", text, time.UTC)
		return day, err == nil
	}
	number, err := strconv.ParseInt(text, 10, 64)
	if err != nil || number < 0 {
		return time.Time{}, false
	}
	switch digits := len(text); {
	case digits <= 11:
		return time.Unix(number, 0).UTC(), true
	case digits <= 14:
		return time.UnixMilli(number).UTC(), true
	case digits <= 17:
		return time.UnixMicro(number).UTC(), true
	default:
		return time.Unix(0, number).UTC(), true
	}
}
