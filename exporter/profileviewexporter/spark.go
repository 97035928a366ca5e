// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profileviewexporter // import "github.com/otelpprof/otelpprof/exporter/profileviewexporter"

import (
	"slices"
	"strconv"

	"github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/recent"
)

// The size of the bars of arrivals. list.html has the same numbers.
const (
	sparkBar    = 3
	sparkHeight = 20
)

// spark returns bars as the path of an SVG image, one for each part of the time.
func spark(arrivals *recent.Arrivals) string {
	most := slices.Max(arrivals[:])
	path := []byte{}
	for i, n := range arrivals {
		if n == 0 {
			continue
		}
		height := max(2, int64(n)*sparkHeight/int64(most))
		path = append(path, 'M')
		path = strconv.AppendInt(path, int64(i*sparkBar), 10)
		path = append(path, ' ')
		path = strconv.AppendInt(path, sparkHeight-height, 10)
		path = append(path, "h2v"...)
		path = strconv.AppendInt(path, height, 10)
		path = append(path, "h-2z"...)
	}
	return string(path)
}
