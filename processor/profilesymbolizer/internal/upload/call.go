// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package upload

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/otelpprof/otelpprof/processor/profilesymbolizer/internal/source"
)

const (
	typeGRPC  = "application/grpc"
	typeProto = "application/proto"

	// framePrefix is what a message of gRPC begins with: a flag that says whether it is compressed, and its length.
	framePrefix = 5
	// maxUnary is the largest message of a call with one message.
	maxUnary = 64 << 10
)

func isGRPC(r *http.Request) bool {
	kind := r.Header.Get("Content-Type")
	return r.ProtoMajor >= 2 && (kind == typeGRPC || kind == typeGRPC+"+proto")
}

// messages are those of a call over gRPC.
type messages struct{ *bufio.Reader }

func newMessages(r *http.Request) (messages, error) {
	if !isGRPC(r) {
		return messages{}, fmt.Errorf("%w: Content-Type %.64q is not supported, only %s over HTTP/2 is, and %s where Connect is", errEncoding,
			r.Header.Get("Content-Type"), typeGRPC, typeProto)
	}
	return messages{bufio.NewReader(r.Body)}, nil
}

// next calls read with the next message. The error is errEnd if there is none.
func (m messages) next(read func(io.Reader) error) error {
	var prefix [framePrefix]byte
	switch n, err := io.ReadFull(m, prefix[:]); {
	case n == 0 && errors.Is(err, io.EOF):
		return errEnd
	case err != nil:
		return fmt.Errorf("%w: %w", errIncomplete, err)
	case prefix[0] != 0:
		return fmt.Errorf("%w: a message is compressed", errEncoding)
	}
	return read(io.LimitReader(m, int64(binary.BigEndian.Uint32(prefix[1:]))))
}

// unary answers a call with one message, over gRPC or Connect.
func (s *server) unary(call func(message io.Reader) ([]byte, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var response []byte
		answer := func(message io.Reader) (err error) {
			response, err = call(io.LimitReader(message, maxUnary))
			return err
		}
		var err error
		if r.Header.Get("Content-Type") == typeProto {
			err = answer(r.Body)
		} else if m, invalid := newMessages(r); invalid != nil {
			err = invalid
		} else {
			err = m.next(answer)
		}
		s.reply(w, r, response, err)
	}
}

// reply answers a call with a message, or with an error.
func (s *server) reply(w http.ResponseWriter, r *http.Request, response []byte, err error) {
	var c class
	if err != nil {
		c = classOf(err)
		s.report(c.result, err)
		if c.result == Failed {
			err = errors.New("the file cannot be stored now") // The paths of this machine are not for clients.
		}
	}
	switch {
	case isGRPC(r):
		w.Header().Set("Content-Type", typeGRPC)
		if err != nil {
			w.Header().Set("Grpc-Message", strings.ReplaceAll(url.QueryEscape(err.Error()), "+", "%20"))
			w.Header().Set("Grpc-Status", strconv.Itoa(c.number))
			return
		}
		w.Header().Set(http.TrailerPrefix+"Grpc-Status", "0")
		frame := binary.BigEndian.AppendUint32([]byte{0}, uint32(len(response)))
		_, _ = w.Write(append(frame, response...)) // #nosec G705 -- The media type is that of gRPC.
	case err != nil:
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(c.http)
		_ = json.NewEncoder(w).Encode(map[string]string{"code": c.name, "message": err.Error()})
	default:
		w.Header().Set("Content-Type", typeProto)
		_, _ = w.Write(response) // #nosec G705 -- The media type is protobuf.
	}
}

// class is a kind of an error: its label in metrics, and its codes in gRPC, Connect and HTTP.
type class struct {
	result string
	number int
	name   string
	http   int
}

func classOf(err error) class {
	for _, known := range []struct {
		err error
		class
	}{
		{errIncomplete, class{"incomplete", 4, "deadline_exceeded", http.StatusRequestTimeout}},
		{source.ErrSize, class{"size", 3, "invalid_argument", http.StatusBadRequest}},
		{source.ErrTooLarge, class{"size", 3, "invalid_argument", http.StatusBadRequest}},
		{source.ErrBuildID, class{"build_id", 3, "invalid_argument", http.StatusBadRequest}},
		{source.ErrFile, class{"malformed", 3, "invalid_argument", http.StatusBadRequest}},
		{errMalformed, class{"malformed", 3, "invalid_argument", http.StatusBadRequest}},
		{errEncoding, class{"malformed", 12, "unimplemented", http.StatusUnsupportedMediaType}},
		{source.ErrStored, class{"exists", 6, "already_exists", http.StatusConflict}},
		{source.ErrInProgress, class{"busy", 9, "failed_precondition", http.StatusPreconditionFailed}},
		{errNoFile, class{"missing", 9, "failed_precondition", http.StatusPreconditionFailed}},
		{errRequests, class{"busy", 14, "unavailable", http.StatusServiceUnavailable}},
		{source.ErrBusy, class{"busy", 14, "unavailable", http.StatusServiceUnavailable}},
	} {
		if errors.Is(err, known.err) {
			return known.class
		}
	}
	return class{Failed, 14, "unavailable", http.StatusServiceUnavailable}
}

// arriving is a body that has to go on arriving, until the end.
type arriving struct {
	io.ReadCloser
	control *http.ResponseController
	stall   time.Duration
	end     time.Time
}

func (a *arriving) Read(p []byte) (int, error) {
	limit := time.Now().Add(a.stall)
	if a.end.Before(limit) {
		limit = a.end
	}
	_ = a.control.SetReadDeadline(limit)
	n, err := a.ReadCloser.Read(p)
	switch _, large := errors.AsType[*http.MaxBytesError](err); {
	case err == nil:
	case errors.Is(err, io.EOF):
		_ = a.control.SetReadDeadline(time.Time{}) // net/http reads on to notice that the client leaves.
	case large:
		err = fmt.Errorf("%w: %w (max_request_body_size)", source.ErrSize, err)
	default:
		err = fmt.Errorf("%w: %w", errIncomplete, err)
	}
	return n, err
}

var errMalformed = errors.New("the message is malformed")

// field is one of a message in protobuf: a number, or text of a length.
type field struct {
	number  protowire.Number
	value   uint64
	content io.Reader
}

// eachField calls f with each field of a message while it arrives.
func eachField(message io.Reader, f func(field) error) error {
	r := bufio.NewReaderSize(message, 512)
	for {
		if _, err := r.Peek(1); err == io.EOF {
			return nil
		}
		tag, err := binary.ReadUvarint(r)
		if err != nil {
			return fmt.Errorf("%w: cannot read a tag: %w", errMalformed, err)
		}
		one, length := field{number: protowire.Number(tag >> 3)}, uint64(0)
		switch kind := protowire.Type(tag & 7); kind {
		case protowire.VarintType:
			one.value, err = binary.ReadUvarint(r)
		case protowire.BytesType:
			length, err = binary.ReadUvarint(r)
		default:
			err = fmt.Errorf("wire type %d is not expected", kind)
		}
		if err != nil {
			return fmt.Errorf("%w: cannot read field %d: %w", errMalformed, one.number, err)
		}
		content := &io.LimitedReader{R: r, N: int64(length)} // What is too large is negative, and so empty.
		one.content = content
		if err := f(one); err != nil {
			return err
		}
		if _, err := io.Copy(io.Discard, content); err != nil {
			return err
		}
		if content.N != 0 {
			return fmt.Errorf("%w: field %d ends %d bytes early", errMalformed, one.number, content.N)
		}
	}
}

// maxText is the longest text of a field that is read.
const maxText = 1 << 10

// text reads a field.
func (f field) text(into *string) error {
	b, err := io.ReadAll(io.LimitReader(f.content, maxText+1))
	if len(b) > maxText {
		return fmt.Errorf("%w: field %d has more than %d bytes", errMalformed, f.number, maxText)
	}
	*into = string(b)
	return err
}

func appendText(message []byte, number protowire.Number, text string) []byte {
	return protowire.AppendString(protowire.AppendTag(message, number, protowire.BytesType), text)
}

func appendNumber(message []byte, number protowire.Number, value uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(message, number, protowire.VarintType), value)
}
