// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package push

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"

	"github.com/otelpprof/otelpprof/receiver/pprofreceiver/internal/label"
)

// maxDepth bounds what is skipped: the decoder remembers each level.
const maxDepth = 100

// jsonReader reads a message in the JSON form of protobuf, token by token, so that limits hold before there is memory
// for what exceeds them. Field names stand in their camel case or as in the message's definition.
type jsonReader struct {
	collector
	decoder  *json.Decoder
	labelSet bool
}

// ReadJSON reads a message in JSON.
func (m Message) ReadJSON(message []byte, limits Limits) ([]Series, error) {
	r := &jsonReader{
		collector: collector{limits: limits},
		decoder:   json.NewDecoder(bytes.NewReader(message)),
		labelSet:  m.labelSet,
	}
	err := r.object(func(key string) error {
		if key != "series" {
			return r.skip()
		}
		return r.array(r.readSeries)
	})
	if err == nil {
		if _, more := r.decoder.Token(); !errors.Is(more, io.EOF) {
			err = malformed("something follows the message")
		}
	}
	return r.series, err
}

func (r *jsonReader) readSeries() error {
	s, err := r.begin()
	if err != nil {
		return err
	}
	labels := func() error { return r.array(func() error { return r.readLabel(s) }) }
	return r.object(func(key string) error {
		switch key {
		case "labels":
			if !r.labelSet {
				return labels()
			}
			return r.object(func(key string) error {
				if key != "labels" {
					return r.skip()
				}
				return labels()
			})
		case "samples":
			return r.array(func() error { return r.readSample(s) })
		default:
			return r.skip()
		}
	})
}

func (r *jsonReader) readLabel(s *Series) error {
	var name, value string
	err := r.object(func(key string) (err error) {
		switch key {
		case "name":
			name, err = r.text()
		case "value":
			value, err = r.text()
		default:
			err = r.skip()
		}
		return err
	})
	if err != nil {
		return err
	}
	s.Labels, err = label.Append(s.Labels, name, value)
	return err
}

func (r *jsonReader) readSample(s *Series) error {
	var profile []byte
	err := r.object(func(key string) error {
		if key != "rawProfile" && key != "raw_profile" {
			return r.skip()
		}
		text, err := r.text()
		if err == nil {
			profile, err = decodeBase64(text)
		}
		return err
	})
	if err != nil {
		return err
	}
	return r.add(s, profile)
}

// decodeBase64 takes both alphabets, with and without padding, as the JSON form of protobuf allows.
func decodeBase64(text string) ([]byte, error) {
	trimmed := bytes.TrimRight([]byte(text), "=")
	for i, c := range trimmed {
		switch c {
		case '-':
			trimmed[i] = '+'
		case '_':
			trimmed[i] = '/'
		}
	}
	n, err := base64.RawStdEncoding.Decode(trimmed, trimmed)
	if err != nil {
		return nil, malformed("rawProfile is not base64: %w", err)
	}
	return trimmed[:n], nil
}

// object reads an object, or null, calling f for each of its keys. f reads the value.
func (r *jsonReader) object(f func(key string) error) error {
	return r.within('{', func() error {
		key, err := r.text()
		if err != nil {
			return err
		}
		return f(key)
	})
}

// array reads an array, or null, calling f for each of its values.
func (r *jsonReader) array(f func() error) error { return r.within('[', f) }

func (r *jsonReader) within(open json.Delim, f func() error) error {
	token, err := r.token()
	if err != nil || token == nil {
		return err
	}
	if token != open {
		return malformed("byte %d: %.32v, want %v", r.decoder.InputOffset(), token, open)
	}
	for r.decoder.More() {
		if err := f(); err != nil {
			return err
		}
	}
	_, err = r.token()
	return err
}

// text reads a string, or null.
func (r *jsonReader) text() (string, error) {
	token, err := r.token()
	if err != nil || token == nil {
		return "", err
	}
	text, ok := token.(string)
	if !ok {
		return "", malformed("byte %d: %.32v, want a string", r.decoder.InputOffset(), token)
	}
	return text, nil
}

// skip passes over a value.
func (r *jsonReader) skip() error {
	depth := 0
	for {
		token, err := r.token()
		if err != nil {
			return err
		}
		switch token {
		case json.Delim('{'), json.Delim('['):
			if depth++; depth > maxDepth {
				return malformed("byte %d: nested deeper than %d", r.decoder.InputOffset(), maxDepth)
			}
		case json.Delim('}'), json.Delim(']'):
			depth--
		}
		if depth == 0 {
			return nil
		}
	}
}

func (r *jsonReader) token() (json.Token, error) {
	token, err := r.decoder.Token()
	if err != nil {
		return nil, malformed("byte %d: %w", r.decoder.InputOffset(), err)
	}
	return token, nil
}
