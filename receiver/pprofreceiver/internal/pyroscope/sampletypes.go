// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pyroscope

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/otelpprof/otelpprof/receiver/pprofreceiver/internal/label"
)

// maxConfigBytes bounds sample_type_config.
const maxConfigBytes = 64 << 10

// sampleType is what is read of the configuration of one sample type. Units and aggregation are for a database; the
// profile says its own.
type sampleType struct {
	DisplayName string `json:"display-name"`
}

// ProfileName returns the name of the profile that the display names in a sample_type_config are of: mutex for
// mutex_count and mutex_duration. It is empty where they name none, or several.
func ProfileName(config []byte) (string, error) {
	if len(config) > maxConfigBytes {
		return "", fmt.Errorf("%w: bytes of sample_type_config: %d, the limit is %d", label.ErrTooLarge, len(config), maxConfigBytes)
	}
	var types map[string]sampleType
	if err := json.Unmarshal(config, &types); err != nil {
		return "", fmt.Errorf("cannot read sample_type_config: %w", err)
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
	return label.ValidText(name[:min(len(name), label.MaxNameBytes)]), nil
}

// baseName takes the end off a display name that tells what is measured, not of which profile.
func baseName(display string) string {
	for _, end := range []string{"_count", "_duration"} {
		if base, found := strings.CutSuffix(display, end); found {
			return base
		}
	}
	return display
}
