// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package querier

import (
	"bytes"
	"strconv"

	"connectrpc.com/connect"
	querierv1 "github.com/grafana/pyroscope/api/gen/proto/go/querier/v1"
	"github.com/klauspost/compress/gzip"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

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
