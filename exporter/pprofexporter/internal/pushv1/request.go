// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package pushv1 writes the message push.v1.PushRequest of Pyroscope.
package pushv1 // import "github.com/otelpprof/otelpprof/exporter/pprofexporter/internal/pushv1"

import (
	"encoding/hex"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/otelpprof/otelpprof/exporter/pprofexporter/internal/series"
)

// Path is where the message goes.
const Path = "/push.v1.PusherService/Push"

// AppendSeries appends one series of a PushRequest, with one profile. Requests consist of nothing but series, so several
// of these in a row are a request.
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

// SeriesBytes returns how many bytes AppendSeries appends.
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

// fieldBytes is the size of a field with so many bytes.
func fieldBytes(n int) int { return protowire.SizeTag(1) + protowire.SizeBytes(n) }

// appendLength appends the tag and the length of a message.
func appendLength(dst []byte, field protowire.Number, n int) []byte {
	return protowire.AppendVarint(protowire.AppendTag(dst, field, protowire.BytesType), uint64(n))
}

func appendString(dst []byte, field protowire.Number, value string) []byte {
	return protowire.AppendString(protowire.AppendTag(dst, field, protowire.BytesType), value)
}

// uuidBytes is the length of what uuid returns.
const uuidBytes = 36

// uuid writes an ID as UUIDs are written.
func uuid(id [16]byte) string {
	digits := hex.EncodeToString(id[:])
	return digits[:8] + "-" + digits[8:12] + "-" + digits[12:16] + "-" + digits[16:20] + "-" + digits[20:]
}
