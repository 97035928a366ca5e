// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"bytes"
	"errors"

	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/translator/pprof"
	"github.com/otelpprof/otelpprof/translator/text"
)

// unnamed returns the format of a payload whose request does not name it. It is a pprof if it can be read as one. Only another payload is
// compared with other formats.
func (f *formats) unnamed(asPprof payloadFormat) payloadFormat {
	return func(payload []byte, source pprof.Source) (pprofile.Profiles, pprof.DecodeStats, error) {
		profiles, stats, err := asPprof(payload, source)
		if len(stats.Begin) == 0 || classOf(err) != malformed {
			return profiles, stats, err
		}
		recognized, failure := f.recognize(stats.Begin, source.Reserve)
		switch {
		case failure != nil:
			return profiles, stats, failure
		case recognized != nil:
			return recognized(payload, source)
		case isText(stats.Begin):
			err = newRefusal(malformed, "the payload is text or JSON, not a pprof, and begins like no format that is recognized: name its format with format=, one of %s", formatNames())
		}
		return profiles, stats, err
	}
}

// recognize returns the format of a payload that begins like this, or nil. err is not about the payload.
func (f *formats) recognize(begin []byte, reserve func(bytes int64) error) (payloadFormat, error) {
	for i := range namedFormats {
		named := &namedFormats[i]
		if named.isIn == nil || !named.isIn(begin) {
			continue
		}
		format := f.text(named, 0)
		if !named.isLines {
			return format, nil
		}
		if isRead, err := readsLines(format, begin, reserve); isRead || err != nil {
			return format, err
		}
	}
	return nil, nil
}

// readsLines reports whether a format reads the first lines of a payload, and gets a frame from them. err is not about the payload.
func readsLines(format payloadFormat, begin []byte, reserve func(bytes int64) error) (isRead bool, err error) {
	if len(begin) == pprof.BeginBytes {
		begin = begin[:bytes.LastIndexByte(begin, '\n')+1] // The last line may be longer.
	}
	profiles, _, err := format(begin, pprof.Source{Reserve: reserve})
	switch {
	case err == nil:
		return profiles.Dictionary().LocationTable().Len() > 1, nil
	case errors.Is(err, text.ErrTooLarge):
		return true, nil // The whole payload is refused for the same reason.
	case errors.Is(err, text.ErrMalformed):
		return false, nil
	default:
		return false, err
	}
}
