// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"bytes"
	"errors"
	"io"
	"math"
	"mime"
	"mime/multipart"
)

const (
	typeForm = "multipart/form-data"

	// maxBoundary is the length that RFC 2046 allows.
	maxBoundary = 70
	// maxPartHeader limits the header of one part in bytes. mime/multipart would read 10 MiB.
	maxPartHeader = 8 << 10
	// partBytes is the memory for reading such a header.
	partBytes = 16 << 10
	// readAhead is how much mime/multipart reads at a time.
	readAhead = 4 << 10
)

var errPartHeader = newRefusal(tooLarge, "the header of a part of the form is larger than %d bytes", maxPartHeader)

// formPart is one field or file of a form.
type formPart struct {
	// name is the name of the field, fileName that of the file. They are empty if missing.
	name, fileName string
	content        []byte
}

// formBoundary returns the boundary in the Content-Type of a form, and false for another Content-Type.
func formBoundary(contentType string) (boundary string, isForm bool, err error) {
	mediaType, parameters, err := mime.ParseMediaType(contentType)
	if mediaType != typeForm {
		return "", false, nil
	}
	if err != nil {
		return "", true, newRefusal(malformed, "cannot read the Content-Type of the form: %w", err)
	}
	boundary = parameters["boundary"]
	if length := len(boundary); length == 0 || length > maxBoundary {
		return "", true, newRefusal(malformed, "the boundary of the form has %d characters, it must have 1 to %d", length, maxBoundary)
	}
	return boundary, true, nil
}

// readForm decompresses a form and returns its parts. It overwrites the body: the contents of the parts move to its beginning, so
// that they take no further memory.
func (s *server) readForm(m *requestMemory, body []byte, boundary string, maxParts int) (parts []formPart, err error) {
	if body, err = m.inflate(body, s.intake.limits.InflatedBytes); err != nil {
		return nil, err
	}
	from := &io.LimitedReader{R: bytes.NewReader(body)}
	reader := multipart.NewReader(from, boundary)
	for number := 1; ; number++ {
		if err := m.Use(partBytes); err != nil {
			return nil, err
		}
		from.N = maxPartHeader + readAhead
		part, err := reader.NextRawPart()
		if err != nil && from.N <= 0 {
			return nil, errPartHeader
		}
		// A form that ends within a header has the same error as one that has ended.
		if err == io.EOF && bytes.Contains(body, []byte("--"+boundary+"--")) { //nolint:errorlint // other errors wrap io.EOF
			return parts, nil
		}
		if err != nil {
			return nil, newRefusal(malformed, "cannot read part %d of the form with the boundary %q: %w", number, boundary, err)
		}
		if number > maxParts {
			return nil, newRefusal(tooLarge, "the form has more than %d parts", maxParts)
		}
		from.N = math.MaxInt64
		content, err := readPart(part, body)
		if err != nil {
			return nil, newRefusal(malformed, "cannot read part %d of the form, %.64q: %w", number, part.FormName(), err)
		}
		body = body[len(content):]
		parts = append(parts, formPart{name: part.FormName(), fileName: part.FileName(), content: content})
	}
}

// readPart reads the content of a part into buffer, which is never too small: it is the rest of the form.
func readPart(part *multipart.Part, buffer []byte) ([]byte, error) {
	length := 0
	for {
		n, err := part.Read(buffer[length:])
		length += n
		if errors.Is(err, io.EOF) {
			return buffer[:length:length], nil
		}
		if err != nil {
			return nil, err
		}
	}
}
