// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pyroscope

import (
	"fmt"
	"strings"

	"github.com/otelpprof/otelpprof/receiver/pprofreceiver/internal/label"
)

// ParseName parses the parameter name, app{key=value,key=value}. Values are not quoted, so they cannot contain a comma.
func ParseName(name string) (app string, labels []label.Label, err error) {
	app, list, labelled := strings.Cut(name, "{")
	app = strings.TrimSpace(app)
	if app == "" {
		return "", nil, fmt.Errorf("name %.64q names no application, it must be app{key=value,...}", name)
	}
	if len(app) > label.MaxValueBytes {
		return "", nil, fmt.Errorf("%w: bytes of the application's name: %d, the limit is %d", label.ErrTooLarge, len(app), label.MaxValueBytes)
	}
	app = label.ValidText(app)
	if !labelled {
		return app, nil, nil
	}
	list, closed := strings.CutSuffix(strings.TrimSpace(list), "}")
	if !closed {
		return "", nil, fmt.Errorf("name %.64q does not end with a closing brace", name)
	}
	for pair := range strings.SplitSeq(list, ",") {
		if strings.TrimSpace(pair) == "" {
			continue
		}
		key, value, found := strings.Cut(pair, "=")
		key = strings.TrimSpace(key)
		if !found || key == "" {
			return "", nil, fmt.Errorf("name %.64q: the label %.64q is not key=value", name, pair)
		}
		if labels, err = label.Append(labels, key, strings.TrimSpace(value)); err != nil {
			return "", nil, err
		}
	}
	return app, labels, nil
}
