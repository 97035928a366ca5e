// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package upload receives the binaries that agents of Parca and Pyroscope upload.
package upload // import "github.com/otelpprof/otelpprof/processor/profilesymbolizer/internal/upload"

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/otelpprof/otelpprof/processor/profilesymbolizer/internal/source"
)

var (
	errIncomplete = errors.New("the request did not arrive")
	errEnd        = fmt.Errorf("%w: there is no message", errIncomplete)
	errEncoding   = errors.New("the encoding is refused")
	errNoFile     = errors.New("no file of this build_id was uploaded")
	errRequests   = fmt.Errorf("%d requests are in progress, which is the limit", maxRequests)
)

// maxRequests is how many requests may be in progress: a connection over HTTP/2 can begin many that take memory and send nothing.
const maxRequests = 256

const (
	// Stored is the result of an upload that has succeeded.
	Stored = "stored"
	// Failed is the result of one that cannot be written.
	Failed = "failed"

	parca     = "POST /parca.debuginfo.v1alpha1.DebuginfoService/"
	pyroscope = "POST /debuginfo.v1alpha1.DebuginfoService/"

	// reasonInProgress is the one that agents know: they ask again later.
	reasonInProgress = "A previous upload is still in-progress and not stale yet (only stale uploads can be retried)."
	strategyGRPC     = 1
	replaceSuffix    = "-replace"
)

type server struct {
	files  *source.Uploads
	report func(result string, err error)
	// requests is the number of those in progress.
	requests atomic.Int64
}

// Handler serves both APIs. A request that does not go on arriving for stall, or takes longer than most, ends. One above maxRequests is
// refused. report gets the result of each upload and of each call that is refused.
func Handler(files *source.Uploads, stall, most time.Duration, report func(result string, err error)) http.Handler {
	s := &server{files: files, report: report}
	mux := http.NewServeMux()
	mux.Handle(parca+"ShouldInitiateUpload", s.unary(s.shouldParca))
	mux.Handle(parca+"InitiateUpload", s.unary(s.initiate))
	mux.HandleFunc(parca+"Upload", s.uploadParca)
	mux.Handle(parca+"MarkUploadFinished", s.unary(s.finished))
	mux.Handle(pyroscope+"ShouldInitiateUpload", s.unary(s.shouldPyroscope))
	mux.HandleFunc(pyroscope+"Upload/{id}", s.uploadPyroscope)
	mux.Handle(pyroscope+"UploadFinished", s.unary(s.finished))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer s.requests.Add(-1)
		if s.requests.Add(1) > maxRequests {
			s.reply(w, r, nil, errRequests)
			return
		}
		r.Body = &arriving{r.Body, http.NewResponseController(w), stall, time.Now().Add(most)}
		mux.ServeHTTP(w, r)
	})
}

// announced is what agents say of a file before they send it: message ShouldInitiateUploadRequest { string build_id = 1; bool force = 3; }
// and message InitiateUploadRequest { string build_id = 1; int64 size = 2; bool force = 4; }.
type announced struct {
	buildID string
	size    int64
	force   bool
}

func readAnnounced(message io.Reader, force protowire.Number) (a announced, err error) {
	err = eachField(message, func(f field) error {
		switch f.number {
		case 1:
			return f.text(&a.buildID)
		case 2:
			a.size = int64(f.value) // It is negative if it is too large.
		case force:
			a.force = f.value != 0
		}
		return nil
	})
	return a, err
}

func (s *server) shouldParca(message io.Reader) ([]byte, error) {
	a, err := readAnnounced(message, 3)
	if err != nil {
		return nil, err
	}
	return s.should(a)
}

// shouldPyroscope reads message ShouldInitiateUploadRequest { FileMetadata file = 1; } and message FileMetadata { string gnu_build_id = 1; }.
func (s *server) shouldPyroscope(message io.Reader) ([]byte, error) {
	var a announced
	err := eachField(message, func(f field) (err error) {
		if f.number == 1 {
			a, err = readAnnounced(f.content, 0)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return s.should(a)
}

// should answers with message ShouldInitiateUploadResponse { bool should_initiate_upload = 1; string reason = 2; }.
func (s *server) should(a announced) ([]byte, error) {
	_, err := s.files.Check(a.buildID, -1, a.force)
	switch {
	case a.buildID == "":
		return appendText(nil, 2, "The file has no build id."), nil
	case errors.Is(err, source.ErrInProgress):
		return appendText(nil, 2, reasonInProgress), nil
	case errors.Is(err, source.ErrStored):
		return appendText(nil, 2, err.Error()), nil
	case err != nil:
		return nil, err
	}
	return appendText(appendNumber(nil, 1, 1), 2, "The binary is not known."), nil
}

// initiate answers with message InitiateUploadResponse { UploadInstructions upload_instructions = 1; } and message UploadInstructions
// { string build_id = 1; string upload_id = 2; UploadStrategy upload_strategy = 3; }. The upload_id has what was announced, so that nothing
// is kept of a client that does not come back.
func (s *server) initiate(message io.Reader) ([]byte, error) {
	a, err := readAnnounced(message, 4)
	if err != nil {
		return nil, err
	}
	id, err := s.files.Check(a.buildID, max(a.size, 0), a.force)
	if err != nil {
		return nil, err
	}
	uploadID := strconv.FormatInt(a.size, 10)
	if a.force {
		uploadID += replaceSuffix
	}
	instructions := appendNumber(appendText(appendText(nil, 1, id), 2, uploadID), 3, strategyGRPC)
	return appendText(nil, 1, string(instructions)), nil
}

// uploadParca reads messages UploadRequest { UploadInfo info = 1; bytes chunk_data = 2; }, the first of which has message UploadInfo
// { string build_id = 1; string upload_id = 2; }. It answers with message UploadResponse { string build_id = 1; uint64 size = 2; }.
func (s *server) uploadParca(w http.ResponseWriter, r *http.Request) {
	buildID, size, err := s.receiveParca(r)
	if err == nil {
		s.report(Stored, nil)
	}
	s.reply(w, r, appendNumber(appendText(nil, 1, buildID), 2, uint64(size)), err)
}

func (s *server) receiveParca(r *http.Request) (buildID string, size int64, err error) {
	m, err := newMessages(r)
	if err != nil {
		return "", 0, err
	}
	buildID, uploadID, err := readInfo(m)
	if err != nil {
		return "", 0, err
	}
	text, replace := strings.CutSuffix(uploadID, replaceSuffix)
	size, err = strconv.ParseInt(text, 10, 64)
	if err != nil {
		return "", 0, fmt.Errorf("%w: upload_id %.64q is not that of InitiateUpload", errMalformed, uploadID)
	}
	size, err = s.files.Receive(r.Context(), buildID, max(size, 0), replace, m.copyChunks)
	return buildID, size, err
}

func readInfo(m messages) (buildID, uploadID string, err error) {
	err = m.next(func(message io.Reader) error {
		return eachField(io.LimitReader(message, maxUnary), func(info field) error {
			if info.number != 1 {
				return fmt.Errorf("%w: the first message has field %d, it must have info", errMalformed, info.number)
			}
			return eachField(info.content, func(f field) error {
				switch f.number {
				case 1:
					return f.text(&buildID)
				case 2:
					return f.text(&uploadID)
				}
				return nil
			})
		})
	})
	return buildID, uploadID, err
}

// copyChunks writes the chunks of a file.
func (m messages) copyChunks(w io.Writer) error {
	for {
		err := m.next(func(message io.Reader) error {
			return eachField(message, func(f field) error {
				if f.number != 2 {
					return fmt.Errorf("%w: a message has field %d, it must have chunk_data", errMalformed, f.number)
				}
				_, err := io.Copy(w, f.content)
				return err
			})
		})
		switch {
		case errors.Is(err, errEnd):
			return nil
		case err != nil:
			return err
		}
	}
}

// uploadPyroscope reads a file, the whole body.
func (s *server) uploadPyroscope(w http.ResponseWriter, r *http.Request) {
	_, err := s.files.Receive(r.Context(), r.PathValue("id"), r.ContentLength, false, func(w io.Writer) error {
		_, err := io.Copy(w, r.Body)
		return err
	})
	if err == nil {
		s.report(Stored, nil)
	}
	s.reply(w, r, nil, err)
}

// finished reads a message with string build_id = 1, and answers with an empty one.
func (s *server) finished(message io.Reader) ([]byte, error) {
	a, err := readAnnounced(message, 0)
	if err != nil {
		return nil, err
	}
	if _, err := s.files.Check(a.buildID, -1, false); !errors.Is(err, source.ErrStored) {
		return nil, errors.Join(errNoFile, err)
	}
	return nil, nil
}
