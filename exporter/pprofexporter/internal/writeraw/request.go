// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package writeraw writes Parca's message WriteRawRequest as JSON. Parca accepts it over HTTP as well as over gRPC.
package writeraw // import "github.com/otelpprof/otelpprof/exporter/pprofexporter/internal/writeraw"

import (
	"encoding/base64"
	"encoding/json"

	"github.com/otelpprof/otelpprof/exporter/internal/series"
)

// Path is the path of the requests.
const Path = "/api/profiles/writeraw"

const (
	begin     = `{"series":[`
	labels    = `{"labels":{"labels":`
	profile   = `},"samples":[{"rawProfile":"`
	seriesEnd = `"}]}`

	// End is the end of a message.
	End = `]}`
)

// AppendSeries appends one series with one profile to a message. If dst is empty, it writes the start of the message first.
func AppendSeries(dst []byte, list []series.Label, pprof []byte) []byte {
	if len(dst) == 0 {
		dst = append(dst, begin...)
	} else {
		dst = append(dst, ',')
	}
	dst = append(append(dst, labels...), encode(list)...)
	dst = append(dst, profile...)
	dst = base64.StdEncoding.AppendEncode(dst, pprof)
	return append(dst, seriesEnd...)
}

// SeriesBytes returns the maximum number of bytes that AppendSeries and End append.
func SeriesBytes(list []series.Label, pprof []byte) int {
	return len(begin+labels+profile+seriesEnd+End) + len(encode(list)) + base64.StdEncoding.EncodedLen(len(pprof))
}

// encode returns the labels as a JSON array of objects with name and value.
func encode(list []series.Label) []byte {
	type label struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	}
	pairs := make([]label, 0, len(list))
	for _, l := range list {
		pairs = append(pairs, label(l))
	}
	text, _ := json.Marshal(pairs) // strings cannot fail
	return text
}
