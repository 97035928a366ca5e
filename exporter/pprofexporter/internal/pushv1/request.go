// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package pushv1 writes the message push.v1.PushRequest of Pyroscope.
package pushv1 // import "github.com/otelpprof/otelpprof/exporter/pprofexporter/internal/pushv1"

import (
	"encoding/hex"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/otelpprof/otelpprof/exporter/internal/series"
)

// Path is the path of the requests.
const Path = "/push.v1.PusherService/Push"

// AppendSeries appends one series of a PushRequest, with one profile. A request has no other fields, so a request is the
// concatenation of its series.
func AppendSeries(dst []byte, labels []series.Label, profile []byte, id [16]byte) []byte {
	dst = appendLength(dst, 1, messageBytes(labels, profile))
	for _, label := range labels {
		dst = appendLength(dst, 1, pairBytes(label))
		dst = appendString(dst, 1, label.Name)
		dst = appendString(dst, 2, label.Value)
	}
	dst = appendLength(dst, 2, sampleBytes(profile))
	dst = protowire.AppendBytes(protowire.AppendTag(dst, 1, protowire.BytesType), profile)
	return appendString(dst, 2, uuid(id))
}

// SeriesBytes returns the number of bytes that AppendSeries appends.
func SeriesBytes(labels []series.Label, profile []byte) int {
	return fieldBytes(messageBytes(labels, profile))
}

func messageBytes(labels []series.Label, profile []byte) int {
	bytes := fieldBytes(sampleBytes(profile))
	for _, label := range labels {
		bytes += fieldBytes(pairBytes(label))
	}
	return bytes
}

func pairBytes(label series.Label) int {
	return fieldBytes(len(label.Name)) + fieldBytes(len(label.Value))
}

func sampleBytes(profile []byte) int { return fieldBytes(len(profile)) + fieldBytes(uuidBytes) }

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
