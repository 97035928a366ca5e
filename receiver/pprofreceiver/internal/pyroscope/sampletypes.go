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

// maxConfigBytes limits sample_type_config.
const maxConfigBytes = 64 << 10

// sampleType is the part of the configuration of a sample type that this package uses. The rest is for databases; the
// profile has its own units.
type sampleType struct {
	DisplayName string `json:"display-name"`
}

// ProfileName returns the name of the profile from the display names in a sample_type_config: mutex for mutex_count and
// mutex_duration. It returns "" if they have no name, or several.
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

// baseName removes the suffix for the measurement from a display name.
func baseName(display string) string {
	for _, end := range []string{"_count", "_duration"} {
		if base, found := strings.CutSuffix(display, end); found {
			return base
		}
	}
	return display
}
