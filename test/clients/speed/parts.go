// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/base64"
	"errors"
	"io"
	"slices"
	"sync"
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
	compress       // with zstd
	deflateMessage // with gzip
	writeFile      // the gzip of a pprof
	parts
)

// yardstick does the parts for one profile.
type yardstick struct {
	payload, plain, message, logs []byte

	encoder *zstd.Encoder

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
	// The levels are those of the gateway.
	encoder, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest))
	if err != nil {
		return nil, err
	}
	deflater, err := gzip.NewWriterLevel(io.Discard, gzip.BestSpeed)
	if err != nil {
		return nil, err
	}
	y := &yardstick{
		payload: payload, logs: logs, message: message, profiles: profiles, encoder: encoder, deflater: deflater,
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
	case deflateMessage:
		err = y.deflate(y.message)
	case writeFile:
		err = y.deflate(y.plain)
	}
	return err
}

func (y *yardstick) deflate(plain []byte) error {
	y.deflater.Reset(io.Discard)
	_, err := y.deflater.Write(plain)
	return errors.Join(err, y.deflater.Close())
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

// yardsticks do the same work at a time, as a gateway does: a processor is slower while the others are busy.
type yardsticks []*yardstick

func newYardsticks(payload []byte, number int) (all yardsticks, err error) {
	all = make(yardsticks, number)
	for i := range all {
		if all[i], err = newYardstick(payload); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// measure returns the CPU time of this process for doing each part once. It does each at least count times.
func (y yardsticks) measure(count int) (times [parts]time.Duration, err error) {
	each := (count + len(y) - 1) / len(y)
	for p := range parts {
		before, err := ownTime()
		if err != nil {
			return times, err
		}
		if err := y.do(p, each); err != nil {
			return times, err
		}
		after, err := ownTime()
		if err != nil {
			return times, err
		}
		times[p] = (after - before) / time.Duration(each*len(y))
	}
	return times, nil
}

// sum returns the time of parts.
func sum(times [parts]time.Duration, all ...[]part) (total time.Duration) {
	for _, p := range slices.Concat(all...) {
		total += times[p]
	}
	return total
}

// do does a part so many times with each yardstick.
func (y yardsticks) do(p part, count int) error {
	errs := make([]error, len(y))
	var running sync.WaitGroup
	for i, one := range y {
		running.Go(func() {
			for range count {
				if errs[i] = one.do(p); errs[i] != nil {
					return
				}
			}
		})
	}
	running.Wait()
	return errors.Join(errs...)
}
