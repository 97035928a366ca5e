// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pyroscope

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// units maps the words for units of relative times to their durations.
var units = map[string]time.Duration{
	"s": time.Second, "sec": time.Second, "second": time.Second, "seconds": time.Second,
	"m": time.Minute, "min": time.Minute, "minute": time.Minute, "minutes": time.Minute,
	"h": time.Hour, "hour": time.Hour, "hours": time.Hour,
	"d": 24 * time.Hour, "day": 24 * time.Hour, "days": 24 * time.Hour,
	"w": 7 * 24 * time.Hour, "week": 7 * 24 * time.Hour, "weeks": 7 * 24 * time.Hour,
	"mon": 30 * 24 * time.Hour, "month": 30 * 24 * time.Hour, "months": 30 * 24 * time.Hour,
	"y": 365 * 24 * time.Hour, "year": 365 * 24 * time.Hour, "years": 365 * 24 * time.Hour,
}

// ParseTime parses the parameters from and until: YYYYMMDD in UTC; seconds, milliseconds, microseconds or nanoseconds
// since 1970; now, or now-1h. It returns false for anything else.
func ParseTime(text string, now time.Time) (time.Time, bool) {
	if relative, ok := strings.CutPrefix(text, "now"); ok {
		return relativeTime(relative, now)
	}
	if strings.HasPrefix(text, "-") {
		return relativeTime(text, now)
	}
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

// relativeTime parses the text after now: nothing, or a sign, a number and a unit.
func relativeTime(text string, now time.Time) (time.Time, bool) {
	if text == "" {
		return now, true
	}
	unitAt := 1 + len(text[1:]) - len(strings.TrimLeft(text[1:], "0123456789"))
	unit, known := units[text[unitAt:]]
	count, err := strconv.ParseInt(text[1:unitAt], 10, 64)
	if !known || err != nil || count > math.MaxInt64/int64(unit) {
		return time.Time{}, false
	}
	switch text[0] {
	case '-':
		return now.Add(-time.Duration(count) * unit), true
	case '+':
		return now.Add(time.Duration(count) * unit), true
	default:
		return time.Time{}, false
	}
}
