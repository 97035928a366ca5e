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
	var message []byte
	for _, label := range labels {
		var pair []byte
		pair = appendString(pair, 1, label.Name)
		pair = appendString(pair, 2, label.Value)
		message = appendBytes(message, 1, pair)
	}
	var sample []byte
	sample = appendBytes(sample, 1, profile)
	sample = appendString(sample, 2, uuid(id))
	message = appendBytes(message, 2, sample)
	return appendBytes(dst, 1, message)
}

func appendBytes(dst []byte, field protowire.Number, value []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(dst, field, protowire.BytesType), value)
}

func appendString(dst []byte, field protowire.Number, value string) []byte {
	return protowire.AppendString(protowire.AppendTag(dst, field, protowire.BytesType), value)
}

// uuid writes an ID as UUIDs are written.
func uuid(id [16]byte) string {
	digits := hex.EncodeToString(id[:])
	return digits[:8] + "-" + digits[8:12] + "-" + digits[12:16] + "-" + digits[16:20] + "-" + digits[20:]
}
