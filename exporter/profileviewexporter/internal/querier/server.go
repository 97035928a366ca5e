// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package querier serves Pyroscope's API for queries, querier.v1.QuerierService, from a store.
package querier // import "github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/querier"

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"

	"connectrpc.com/connect"
	querierv1 "github.com/grafana/pyroscope/api/gen/proto/go/querier/v1"
	"github.com/klauspost/compress/gzip"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/query"
	"github.com/otelpprof/otelpprof/internal/memory/meter"
)

// Prefix is the start of the paths of all methods.
const Prefix = "/querier.v1.QuerierService/"

// Server answers requests.
type Server struct {
	query.Source
	// Tenant returns the tenant of a request.
	Tenant func(http.Header) string
	// Begin waits until a request may work. The caller must call end when the answer is complete.
	Begin func(ctx context.Context) (work *meter.Meter, end func(), err error)
	// Code returns the code for an error that is not one of this package.
	Code func(err error) connect.Code
}

const (
	// maxRequest limits the size of a request, also after decompression.
	maxRequest = 64 << 10
	// leastCompressed is the least size of an answer that is compressed.
	leastCompressed = 1 << 10
)

// Handle adds the methods to a mux. Methods that are not offered answer unimplemented.
func (s *Server) Handle(mux *http.ServeMux) {
	handle(s, mux, "ProfileTypes", s.profileTypes)
	handle(s, mux, "LabelNames", s.labelNames)
	handle(s, mux, "LabelValues", s.labelValues)
	handle(s, mux, "Series", s.series)
	handle(s, mux, "SelectMergeStacktraces", s.selectMergeStacktraces)
	handle(s, mux, "SelectMergeSpanProfile", s.selectMergeSpanProfile)
	handle(s, mux, "SelectMergeProfile", s.selectMergeProfile)
	handle(s, mux, "SelectSeries", s.selectSeries)
	handle(s, mux, "Diff", s.diff)
	faults := connect.NewErrorWriter()
	mux.HandleFunc(Prefix, func(w http.ResponseWriter, r *http.Request) {
		_ = faults.Write(w, r, unimplemented("this method is not offered")) // the client can be disconnected
	})
}

// call is a request that works.
type call struct {
	context.Context
	server *Server
	tenant string
	// work counts the memory of the request. What it has in use stays until the answer is written.
	work *meter.Meter
}

func handle[Request, Response any](s *Server, mux *http.ServeMux, method string, answer func(*call, *Request) (*Response, error)) {
	mux.Handle(Prefix+method, s.working(connect.NewUnaryHandler(Prefix+method,
		func(ctx context.Context, r *connect.Request[Request]) (*connect.Response[Response], error) {
			work, _ := ctx.Value(workKey{}).(*meter.Meter)
			response, err := answer(&call{Context: ctx, server: s, tenant: s.Tenant(r.Header()), work: work}, r.Msg)
			if err != nil {
				return nil, s.fault(err)
			}
			return connect.NewResponse(response), nil
		},
		connect.WithReadMaxBytes(maxRequest), connect.WithCompressMinBytes(leastCompressed), connect.WithCodec(jsonCodec{}), fastGzip)))
}

type workKey struct{}

// working reads a request, and waits until it may work. Only then it is decompressed and decoded, which takes much more memory than the
// bytes that wait.
func (s *Server) working(next http.Handler) http.Handler {
	faults := connect.NewErrorWriter()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequest))
		var work *meter.Meter
		var end func()
		if err == nil {
			work, end, err = s.Begin(r.Context())
		}
		if err != nil {
			_ = faults.Write(w, r, s.fault(err)) // the client can be disconnected
			return
		}
		end = sync.OnceFunc(end)
		defer end()
		r = r.WithContext(context.WithValue(r.Context(), workKey{}, work))
		r.Body = io.NopCloser(bytes.NewReader(body))
		next.ServeHTTP(answering{w, end}, r)
	})
}

// answering ends the work of a request when its answer is complete: the client can read it slowly.
type answering struct {
	http.ResponseWriter
	end func()
}

func (a answering) Write(answer []byte) (int, error) {
	a.end()
	return a.ResponseWriter.Write(answer)
}

// fault returns an error with a code.
func (s *Server) fault(err error) error {
	known, found := err.(*connect.Error) //nolint:errorlint // Errors of this package are not wrapped.
	if tooLarge, is := errors.AsType[*http.MaxBytesError](err); is {
		known = connect.NewError(connect.CodeResourceExhausted, fmt.Errorf("the request has more than %d bytes", tooLarge.Limit))
	} else if !found {
		known = connect.NewError(s.Code(err), err)
	}
	if known.Code() == connect.CodeUnavailable {
		known.Meta().Set("Retry-After", "1")
	}
	return known
}

// fastGzip compresses at the fastest level, since the client waits.
var fastGzip = connect.WithCompression("gzip", func() connect.Decompressor { return &gzip.Reader{} }, func() connect.Compressor {
	w, _ := gzip.NewWriterLevel(nil, gzip.BestSpeed) // the level is valid
	return w
})

// jsonCodec is the JSON of protobuf. It writes the numbers of flame graphs itself: protojson needs most of the time of a request for them.
type jsonCodec struct{}

func (jsonCodec) Name() string { return "json" }

func (jsonCodec) Unmarshal(text []byte, message any) error {
	return protojson.UnmarshalOptions{DiscardUnknown: true}.Unmarshal(text, message.(proto.Message))
}

func (c jsonCodec) Marshal(message any) ([]byte, error) { return c.MarshalAppend(nil, message) }

func (jsonCodec) MarshalAppend(out []byte, message any) ([]byte, error) {
	var levels []*querierv1.Level
	if answer, is := message.(interface{ GetFlamegraph() *querierv1.FlameGraph }); is && answer.GetFlamegraph() != nil {
		levels, answer.GetFlamegraph().Levels = answer.GetFlamegraph().Levels, nil
	} else if answer, is := message.(*querierv1.DiffResponse); is {
		levels, answer.Flamegraph.Levels = answer.Flamegraph.Levels, nil
	}
	out, err := protojson.MarshalOptions{}.MarshalAppend(out, message.(proto.Message))
	if len(levels) == 0 || err != nil {
		return out, err
	}
	out = append(bytes.TrimRight(out, "} "), `,"levels":[`...) // A flame graph has at least the name of its root.
	for _, level := range levels {
		out = append(out, `{"values":["`...)
		for _, v := range level.GetValues() {
			out = append(strconv.AppendInt(out, v, 10), `","`...)
		}
		out = append(out[:len(out)-2], "]},"...)
	}
	return append(out[:len(out)-1], "]}}"...), nil
}
