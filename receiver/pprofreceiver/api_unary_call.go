// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"google.golang.org/grpc/codes"

	"github.com/otelpprof/otelpprof/internal/wire/inflate"
)

const (
	typeProto     = "application/proto"
	typeJSON      = "application/json"
	typeGRPC      = "application/grpc"
	typeGRPCProto = "application/grpc+proto"

	// grpcPrefix is the length of the prefix of a gRPC message: a flag that says whether the message is compressed, and
	// its length.
	grpcPrefix = 5
)

// readCall reads an RPC over Connect or gRPC, whose request is one message and whose response is empty. An invalid profile does not affect the others.
func (s *server) readCall(kind messageKind) func(context.Context, *http.Request, *batch, []byte) error {
	return func(ctx context.Context, r *http.Request, payloads *batch, body []byte) error {
		if err := checkEncoding(r, body); err != nil {
			return err
		}
		message, err := s.message(r, payloads.memory, body)
		if err != nil {
			return err
		}
		read := kind.read
		if mediaType(r) == typeJSON {
			read = kind.readJSON
		}
		series, err := read(message, s.intake.limits.Payloads, payloads.memory.Meter)
		if err != nil {
			return err
		}
		ofRequest, err := s.newSource(r, nil)
		if err != nil {
			return err
		}
		for i, one := range series {
			source := ofRequest
			source.Resource = pcommon.NewMap()
			ofRequest.Resource.CopyTo(source.Resource)
			for _, l := range one.labels {
				if l.name != "" && l.name == kind.serviceLabel && l.value != "" {
					source.Resource.PutStr(attributeServiceName, l.value)
				}
			}
			setFromLabels(&source, one.labels, pyroscopeNames)
			for j, profile := range one.profiles {
				if err := payloads.addOneOf(ctx, fmt.Sprintf("series[%d].samples[%d]", i, j), payload{format: s.pprof, content: profile, source: source}); err != nil {
					return err
				}
			}
		}
		return nil
	}
}

// message returns the message of a call, without prefix and compression.
func (s *server) message(r *http.Request, m *requestMemory, body []byte) ([]byte, error) {
	switch mediaType(r) {
	case typeProto, typeJSON:
		return m.inflate(body, s.intake.limits.InflatedBytes)
	case typeGRPC, typeGRPCProto:
		return s.grpcMessage(r, m, body)
	default:
		return nil, newRefusal(unknownFormat, "Content-Type %.64q is not supported, only %s, %s and %s are",
			r.Header.Get("Content-Type"), typeProto, typeJSON, typeGRPC)
	}
}

func (s *server) grpcMessage(r *http.Request, m *requestMemory, body []byte) ([]byte, error) {
	if r.ProtoMajor < 2 {
		return nil, newRefusal(unknownFormat, "gRPC needs HTTP/2")
	}
	if len(body) < grpcPrefix || uint64(binary.BigEndian.Uint32(body[1:])) != uint64(len(body)-grpcPrefix) {
		return nil, newRefusal(malformed, "the body is not one message of gRPC")
	}
	message := body[grpcPrefix:]
	encoding := strings.ToLower(r.Header.Get("Grpc-Encoding"))
	switch {
	case body[0] == 0:
		return message, nil
	case body[0] != 1:
		return nil, newRefusal(malformed, "the message has the flag %d, it must be 0 or 1", body[0])
	case encoding != "gzip" && encoding != "zstd":
		return nil, newRefusal(unknownEncoding, "grpc-encoding %.16q is not supported, only gzip and zstd are", encoding)
	case inflate.Plain(message):
		return nil, newRefusal(malformed, "grpc-encoding is %.16q, but the message begins otherwise", encoding)
	}
	return m.inflate(message, s.intake.limits.InflatedBytes)
}

// mediaType returns the Content-Type without parameters, or "" if it cannot be parsed.
func mediaType(r *http.Request) string {
	mediaType, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil {
		return ""
	}
	return mediaType
}

func isGRPC(r *http.Request) bool {
	contentType := mediaType(r)
	return r.ProtoMajor >= 2 && (contentType == typeGRPC || strings.HasPrefix(contentType, typeGRPC+"+"))
}

// succeedCall writes an empty response in the encoding of the request.
func succeedCall(w http.ResponseWriter, r *http.Request) {
	contentType := mediaType(r)
	w.Header().Set("Content-Type", contentType)
	switch {
	case isGRPC(r):
		setGRPCStatus(w.Header(), http.TrailerPrefix, codes.OK, "")
		_, _ = w.Write(make([]byte, grpcPrefix))
	case contentType == typeJSON:
		_, _ = io.WriteString(w, "{}")
	default:
		w.WriteHeader(http.StatusOK)
	}
}

// failCall writes an error in the format of Connect or gRPC.
func failCall(w http.ResponseWriter, r *http.Request, f failure) {
	if isGRPC(r) {
		failGRPC(w, f)
		return
	}
	if f.refusalClass == unknownFormat {
		w.Header().Set("Accept-Post", typeProto+", "+typeJSON+", "+typeGRPC)
	}
	failJSON(w, f.status, map[string]any{"code": f.connectCode(), "message": f.text})
}

// failGRPC writes a response with only trailers.
func failGRPC(w http.ResponseWriter, f failure) {
	w.Header().Set("Content-Type", typeGRPC)
	setGRPCStatus(w.Header(), "", f.code, f.text)
	w.WriteHeader(http.StatusOK)
}

func setGRPCStatus(header http.Header, prefix string, code codes.Code, text string) {
	header.Set("Grpc-Accept-Encoding", "gzip, zstd")
	header.Set(prefix+"Grpc-Status", strconv.Itoa(int(code)))
	if text != "" {
		header.Set(prefix+"Grpc-Message", strings.ReplaceAll(url.QueryEscape(text), "+", "%20"))
	}
}

// failUnknown answers requests to unknown paths.
func failUnknown(w http.ResponseWriter, r *http.Request, f failure) {
	if isGRPC(r) {
		failGRPC(w, f)
		return
	}
	failText(w, r, f)
}

// failParca writes an error in the format of gRPC gateways.
func failParca(w http.ResponseWriter, r *http.Request, f failure) {
	if r.URL.Path != parcaGatewayPath {
		failCall(w, r, f)
		return
	}
	failJSON(w, f.status, map[string]any{"code": f.code, "message": f.text, "details": []any{}})
}
