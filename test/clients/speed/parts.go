// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/base64"
	"io"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/translator/pprof"
)

// part is work that no gateway can avoid, on one upload.
type part int

const (
	unmarshalLogs part = iota // and the pprof from base64
	inflate
	fill // an OTLP message, by unmarshalling
	marshal
	compress
	compressRecords // as Kafka's client does
	writeFile       // the gzip of a pprof
	parts
)

// yardstick does the parts for one profile.
type yardstick struct {
	payload, plain, message, logs []byte

	encoder, recordEncoder *zstd.Encoder

	deflater *gzip.Writer
	inflater gzip.Reader
	buffer   bytes.Buffer
	profiles pprofile.Profiles
}

func newYardstick(payload []byte) (*yardstick, error) {
	logs, err := logsOf(payload)
	if err != nil {
		return nil, err
	}
	profiles, _, err := pprof.NewDecoder(pprof.DecodeOptions{}).Decode(payload, pprof.Source{})
	if err != nil {
		return nil, err
	}
	message, err := (&pprofile.ProtoMarshaler{}).MarshalProfiles(profiles)
	if err != nil {
		return nil, err
	}
	encoder, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	if err != nil {
		return nil, err
	}
	// The window of franz-go, which the exporter uses.
	recordEncoder, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(64<<10))
	if err != nil {
		return nil, err
	}
	// The default level of the exporter pprof.
	deflater, err := gzip.NewWriterLevel(io.Discard, 6)
	if err != nil {
		return nil, err
	}
	y := &yardstick{
		payload: payload, logs: logs, message: message, profiles: profiles, encoder: encoder, recordEncoder: recordEncoder,
		deflater: deflater,
	}
	err = y.inflate()
	y.plain = bytes.Clone(y.buffer.Bytes())
	return y, err
}

func (y *yardstick) inflate() error {
	y.buffer.Reset()
	if err := y.inflater.Reset(bytes.NewReader(y.payload)); err != nil {
		return err
	}
	_, err := y.buffer.ReadFrom(&y.inflater)
	return err
}

func (y *yardstick) do(p part) (err error) {
	switch p {
	case unmarshalLogs:
		err = y.unmarshalLogs()
	case inflate:
		err = y.inflate()
	case fill:
		_, err = (&pprofile.ProtoUnmarshaler{}).UnmarshalProfiles(y.message)
	case marshal:
		_, err = (&pprofile.ProtoMarshaler{}).MarshalProfiles(y.profiles)
	case compress:
		y.encoder.EncodeAll(y.message, y.buffer.AvailableBuffer())
	case compressRecords:
		y.recordEncoder.EncodeAll(y.message, y.buffer.AvailableBuffer())
	case writeFile:
		y.deflater.Reset(io.Discard)
		if _, err = y.deflater.Write(y.plain); err == nil {
			err = y.deflater.Close()
		}
	}
	return err
}

func (y *yardstick) unmarshalLogs() error {
	logs, err := (&plog.ProtoUnmarshaler{}).UnmarshalLogs(y.logs)
	if err != nil {
		return err
	}
	record := logs.ResourceLogs().At(0).ScopeLogs().At(0).LogRecords().At(0)
	_, err = base64.StdEncoding.DecodeString(record.Body().Str())
	return err
}

// measure returns the CPU time of this process for doing each part once.
func (y *yardstick) measure(count int) (times [parts]time.Duration, err error) {
	for p := range parts {
		before, err := ownTime()
		if err != nil {
			return times, err
		}
		for range count {
			if err := y.do(p); err != nil {
				return times, err
			}
		}
		after, err := ownTime()
		if err != nil {
			return times, err
		}
		times[p] = (after - before) / time.Duration(count)
	}
	return times, nil
}
