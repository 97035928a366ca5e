// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// parseName parses the parameter name, app{key=value,key=value}. Values are not quoted, so they cannot contain a comma.
func parseName(name string) (app string, labels []label, err error) {
	app, list, labelled := strings.Cut(name, "{")
	app = strings.TrimSpace(app)
	if app == "" {
		return "", nil, newRefusal(badQuery, "name %.64q names no application, it must be app{key=value,...}", name)
	}
	if len(app) > maxLabelValue {
		return "", nil, labelsTooLarge("bytes of the application's name: %d, the limit is %d", len(app), maxLabelValue)
	}
	app = validText(app)
	if !labelled {
		return app, nil, nil
	}
	list, closed := strings.CutSuffix(strings.TrimSpace(list), "}")
	if !closed {
		return "", nil, newRefusal(badQuery, "name %.64q does not end with a closing brace", name)
	}
	for pair := range strings.SplitSeq(list, ",") {
		if strings.TrimSpace(pair) == "" {
			continue
		}
		key, value, found := strings.Cut(pair, "=")
		key = strings.TrimSpace(key)
		if !found || key == "" {
			return "", nil, newRefusal(badQuery, "name %.64q: the label %.64q is not key=value", name, pair)
		}
		if labels, err = appendLabel(labels, key, strings.TrimSpace(value)); err != nil {
			return "", nil, err
		}
	}
	return app, labels, nil
}

// parseTime parses the parameters from and until: YYYYMMDD in UTC; seconds, milliseconds, microseconds or nanoseconds
// since 1970. It returns false for anything else, such as now-1h: a retry repeats the words, but later.
func parseTime(text string) (time.Time, bool) {
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

// maxConfigBytes limits sample_type_config.
const maxConfigBytes = 64 << 10

// sampleType is the part of the configuration of a sample type that the receiver uses. The rest is for databases; the
// profile has its own units.
type sampleType struct {
	DisplayName string `json:"display-name"`
}

// displayedName returns the name of the profile from the display names in a sample_type_config: mutex for mutex_count and
// mutex_duration. It returns "" if they have no name, or several.
func displayedName(config []byte) (string, error) {
	if len(config) > maxConfigBytes {
		return "", labelsTooLarge("bytes of sample_type_config: %d, the limit is %d", len(config), maxConfigBytes)
	}
	var types map[string]sampleType
	if err := json.Unmarshal(config, &types); err != nil {
		return "", newRefusal(malformed, "cannot read sample_type_config: %w", err)
	}
	name := ""
	for _, key := range slices.Sorted(maps.Keys(types)) {
		display := baseName(types[key].DisplayName)
		switch {
		case display == "" || display == name:
		case name == "":
			name = display
		default:
			return "", nil
		}
	}
	return validText(name[:min(len(name), maxLabelName)]), nil
}

// baseName removes the suffix for the measurement from a display name.
func baseName(display string) string {
	for _, end := range []string{"_count", "_duration"} {
		if base, found := strings.CutSuffix(display, end); found {
			return base
		}
	}
	return display
}
