// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofexporter

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/otelpprof/otelpprof/exporter/internal/series"
)

// appendPushSeries appends one series of Pyroscope's message push.v1.PushRequest, with one profile. A request has no other fields, so a request is the
// concatenation of its series.
func appendPushSeries(dst, labels, profile []byte, id [16]byte) []byte {
	sample := fieldBytes(len(profile)) + fieldBytes(uuidBytes)
	dst = appendLength(dst, 1, len(labels)+fieldBytes(sample))
	dst = append(dst, labels...)
	dst = appendLength(dst, 2, sample)
	dst = protowire.AppendBytes(protowire.AppendTag(dst, 1, protowire.BytesType), profile)
	return appendString(dst, 2, uuid(id))
}

// pushSeriesBytes returns the number of bytes that appendPushSeries appends.
func pushSeriesBytes(labels, profile []byte) int {
	return fieldBytes(len(labels) + fieldBytes(fieldBytes(len(profile))+fieldBytes(uuidBytes)))
}

// labelsAsPairs returns the labels as messages LabelPair.
func labelsAsPairs(list []series.Label) (pairs []byte) {
	for _, label := range list {
		pairs = appendLength(pairs, 1, fieldBytes(len(label.Name))+fieldBytes(len(label.Value)))
		pairs = appendString(appendString(pairs, 1, label.Name), 2, label.Value)
	}
	return pairs
}

// fieldBytes returns the size of a field of n bytes, with its tag and length.
func fieldBytes(n int) int { return protowire.SizeTag(1) + protowire.SizeBytes(n) }

// appendLength appends the tag and the length of a message.
func appendLength(dst []byte, field protowire.Number, n int) []byte {
	return protowire.AppendVarint(protowire.AppendTag(dst, field, protowire.BytesType), uint64(n))
}

func appendString(dst []byte, field protowire.Number, value string) []byte {
	return protowire.AppendString(protowire.AppendTag(dst, field, protowire.BytesType), value)
}

// uuidBytes is the length of the text of a UUID.
const uuidBytes = 36

// uuid returns an id in the text form of a UUID.
func uuid(id [16]byte) string {
	digits := hex.EncodeToString(id[:])
	return digits[:8] + "-" + digits[8:12] + "-" + digits[12:16] + "-" + digits[16:20] + "-" + digits[20:]
}

// The parts of Parca's message WriteRawRequest as JSON.
const (
	rawBegin     = `{"series":[`
	rawLabels    = `{"labels":{"labels":`
	rawProfile   = `},"samples":[{"rawProfile":"`
	rawSeriesEnd = `"}]}`

	// rawEnd is the end of a message.
	rawEnd = `]}`
)

// appendRawSeries appends one series with one profile to a message. If dst is empty, it writes the start of the message first.
func appendRawSeries(dst, labels, pprof []byte, _ [16]byte) []byte {
	if len(dst) == 0 {
		dst = append(dst, rawBegin...)
	} else {
		dst = append(dst, ',')
	}
	dst = append(append(dst, rawLabels...), labels...)
	dst = append(dst, rawProfile...)
	dst = base64.StdEncoding.AppendEncode(dst, pprof)
	return append(dst, rawSeriesEnd...)
}

// rawSeriesBytes returns the maximum number of bytes that appendRawSeries and rawEnd append.
func rawSeriesBytes(labels, pprof []byte) int {
	return len(rawBegin+rawLabels+rawProfile+rawSeriesEnd+rawEnd) + len(labels) + base64.StdEncoding.EncodedLen(len(pprof))
}

// labelsAsJSON returns the labels as a JSON array of objects with name and value.
func labelsAsJSON(list []series.Label) []byte {
	text, _ := json.Marshal(list) // strings cannot fail
	return text
}
