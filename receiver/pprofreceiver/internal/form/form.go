// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package form

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/textproto"
)

// maxHeaderBytes limits the header of one part.
const maxHeaderBytes = 8 << 10

var (
	// ErrMalformed reports that the body is not a form with this boundary.
	ErrMalformed = errors.New("malformed multipart form")
	// ErrTooLarge reports that a limit is exceeded.
	ErrTooLarge = errors.New("multipart form too large")
)

// Part is one field or file of a form.
type Part struct {
	// Name is the name of the field, FileName that of the file. They are empty if missing.
	Name     string
	FileName string
	// Content refers to the body that was passed to [NewReader].
	Content []byte
}

// Boundary returns the boundary in the Content-Type of a form, and false for another Content-Type.
func Boundary(contentType string) (boundary string, ok bool, err error) {
	mediaType, parameters, err := mime.ParseMediaType(contentType)
	if mediaType != "multipart/form-data" {
		return "", false, nil
	}
	if err != nil {
		return "", true, fmt.Errorf("%w: Content-Type: %w", ErrMalformed, err)
	}
	// RFC 2046 allows 70 characters.
	if length := len(parameters["boundary"]); length == 0 || length > 70 {
		return "", true, fmt.Errorf("%w: Content-Type: the boundary has %d characters, it must have 1 to 70", ErrMalformed, length)
	}
	return parameters["boundary"], true, nil
}

// Reader reads the parts of a form.
type Reader struct {
	// rest starts with the header of the next part.
	rest []byte
	// delimiter ends the content of each part. It starts with a line break.
	delimiter []byte
	parts     int
	maxParts  int
	ended     bool
	err       error
}

// NewReader returns a reader of body. body must not be modified while parts are in use.
func NewReader(body []byte, boundary string, maxParts int) *Reader {
	r := &Reader{delimiter: []byte("\r\n--" + boundary), maxParts: maxParts}
	found := delimited{behind: -1}
	if bytes.HasPrefix(body, r.delimiter[2:]) {
		found = r.lineBehind(body, len(r.delimiter)-2)
	}
	if found.behind < 0 {
		// Text before the first delimiter is ignored.
		found = r.find(body)
	}
	switch {
	case found.behind < 0:
		r.err = fmt.Errorf("%w: the boundary %.70q does not occur", ErrMalformed, boundary)
	case found.last:
		r.ended = true
	default:
		r.rest = body[found.behind:]
	}
	return r
}

// Next returns the next part, or io.EOF after the last one. The error is [ErrMalformed] or [ErrTooLarge].
func (r *Reader) Next() (Part, error) {
	switch {
	case r.err != nil:
		return Part{}, r.err
	case r.ended:
		return Part{}, io.EOF
	case r.parts == r.maxParts:
		return Part{}, fmt.Errorf("%w: more than %d parts", ErrTooLarge, r.maxParts)
	}
	r.parts++
	part, err := r.next()
	if err != nil {
		r.err = fmt.Errorf("part %d: %w", r.parts, err)
	}
	return part, r.err
}

func (r *Reader) next() (Part, error) {
	header, length, err := splitHeader(r.rest)
	if err != nil {
		return Part{}, err
	}
	part, err := parseHeader(header)
	if err != nil {
		return Part{}, err
	}
	// If the content is empty, the line break before the delimiter can be that of the header.
	content := r.rest[length:]
	found := r.find(r.rest[length-2:])
	if found.behind < 0 {
		return Part{}, fmt.Errorf("%w: the form ends within part %.64q", ErrMalformed, part.Name)
	}
	part.Content = content[:max(found.at-2, 0)]
	r.rest, r.ended = r.rest[length-2+found.behind:], found.last
	return part, nil
}

// splitHeader returns the lines of a header and its length.
func splitHeader(rest []byte) (lines []byte, length int, err error) {
	if bytes.HasPrefix(rest, []byte("\r\n")) {
		return nil, 2, nil
	}
	const end = "\r\n\r\n"
	length = bytes.Index(rest[:min(len(rest), maxHeaderBytes)], []byte(end))
	switch {
	case length >= 0:
		return rest[:length+len(end)], length + len(end), nil
	case len(rest) >= maxHeaderBytes:
		return nil, 0, fmt.Errorf("%w: more than %d bytes of header", ErrTooLarge, maxHeaderBytes)
	default:
		return nil, 0, fmt.Errorf("%w: the form ends within a header", ErrMalformed)
	}
}

// parseHeader parses the names of a part.
func parseHeader(lines []byte) (part Part, err error) {
	if len(lines) == 0 {
		return part, nil
	}
	header, err := textproto.NewReader(bufio.NewReaderSize(bytes.NewReader(lines), 512)).ReadMIMEHeader()
	if err != nil {
		return part, fmt.Errorf("%w: header: %w", ErrMalformed, err)
	}
	disposition := header.Get("Content-Disposition")
	if disposition == "" {
		return part, nil
	}
	_, parameters, err := mime.ParseMediaType(disposition)
	if err != nil {
		return part, fmt.Errorf("%w: Content-Disposition %.64q: %w", ErrMalformed, disposition, err)
	}
	part.Name, part.FileName = parameters["name"], parameters["filename"]
	return part, nil
}

// delimited is the position of a delimiter, and the position after its line.
type delimited struct {
	at     int
	behind int
	last   bool
}

// find returns the first delimiter in text. behind is negative if there is none.
func (r *Reader) find(text []byte) delimited {
	for from := 0; ; {
		at := bytes.Index(text[from:], r.delimiter)
		if at < 0 {
			return delimited{behind: -1}
		}
		at += from
		if found := r.lineBehind(text, at+len(r.delimiter)); found.behind >= 0 {
			found.at = at
			return found
		}
		from = at + len(r.delimiter)
	}
}

// lineBehind parses the rest of a delimiter's line: two dashes, or blanks and a line break. behind is negative if there
// is anything else, since then it is not a delimiter.
func (r *Reader) lineBehind(text []byte, at int) delimited {
	if bytes.HasPrefix(text[at:], []byte("--")) {
		return delimited{behind: at + 2, last: true}
	}
	blanks := len(text[at:]) - len(bytes.TrimLeft(text[at:], " \t"))
	if bytes.HasPrefix(text[at+blanks:], []byte("\r\n")) {
		return delimited{behind: at + blanks + 2}
	}
	return delimited{behind: -1}
}
