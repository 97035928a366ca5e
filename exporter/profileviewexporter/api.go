// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profileviewexporter

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"

	"connectrpc.com/connect"
	querierv1 "github.com/grafana/pyroscope/api/gen/proto/go/querier/v1"
	"github.com/klauspost/compress/gzip"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/otelpprof/otelpprof/internal/memory/meter"
)

// apiPrefix is the start of the paths of Pyroscope's API for queries.
const apiPrefix = "/querier.v1.QuerierService/"

const (
	// maxRequest limits the size of a request, also after decompression.
	maxRequest = 64 << 10
	// leastCompressed is the least size of an answer that is compressed.
	leastCompressed = 1 << 10
)

// handleAPI adds the methods to a mux. Methods that are not offered answer unimplemented.
func (v *viewExporter) handleAPI(mux *http.ServeMux) {
	handleMethod(v, mux, "ProfileTypes", (*call).profileTypes)
	handleMethod(v, mux, "LabelNames", (*call).labelNames)
	handleMethod(v, mux, "LabelValues", (*call).labelValues)
	handleMethod(v, mux, "Series", (*call).listSeries)
	handleMethod(v, mux, "SelectMergeStacktraces", (*call).selectMergeStacktraces)
	handleMethod(v, mux, "SelectMergeSpanProfile", (*call).selectMergeSpanProfile)
	handleMethod(v, mux, "SelectMergeProfile", (*call).selectMergeProfile)
	handleMethod(v, mux, "SelectSeries", (*call).selectSeries)
	handleMethod(v, mux, "Diff", (*call).diff)
	faults := connect.NewErrorWriter()
	mux.HandleFunc(apiPrefix, func(w http.ResponseWriter, r *http.Request) {
		_ = faults.Write(w, r, fault(unimplemented("this method is not offered"))) // the client can be disconnected
	})
}

func handleMethod[Request, Response any](v *viewExporter, mux *http.ServeMux, method string, answer func(*call, *Request) (*Response, error)) {
	mux.Handle(apiPrefix+method, v.workingMethod(connect.NewUnaryHandler(apiPrefix+method,
		func(ctx context.Context, r *connect.Request[Request]) (*connect.Response[Response], error) {
			work, _ := ctx.Value(workKey{}).(*meter.Meter)
			response, err := answer(&call{viewExporter: v, tenant: v.tenant(r.Header()), work: work}, r.Msg)
			if err != nil {
				return nil, fault(err)
			}
			return connect.NewResponse(response), nil
		},
		connect.WithReadMaxBytes(maxRequest), connect.WithCompressMinBytes(leastCompressed), connect.WithCodec(jsonCodec{}), fastGzip)))
}

type workKey struct{}

// workingMethod reads a request, and waits until it may work. Only then it is decompressed and decoded, which takes much more memory than the
// bytes that wait.
func (v *viewExporter) workingMethod(next http.Handler) http.Handler {
	faults := connect.NewErrorWriter()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequest))
		var work *meter.Meter
		var end func()
		if err == nil {
			work, end, err = v.begin(r)
		}
		if err != nil {
			_ = faults.Write(w, r, fault(err)) // the client can be disconnected
			return
		}
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

// fault returns an error with its code.
func fault(err error) error {
	if tooLarge, is := errors.AsType[*http.MaxBytesError](err); is {
		err = fail(http.StatusUnprocessableEntity, "the request has more than %d bytes", tooLarge.Limit)
	}
	known := connect.NewError(codeOf(err), err)
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
