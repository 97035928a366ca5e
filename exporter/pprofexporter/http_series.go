// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofexporter

import (
	"cmp"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"maps"
	"net/http"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/otelpprof/otelpprof/exporter/internal/delivery"
	"github.com/otelpprof/otelpprof/exporter/internal/series"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

// seriesFormat has the differences between the formats with several series in one request, to Pyroscope or Parca.
type seriesFormat struct {
	path   string
	header http.Header
	// labelName returns the name of a label for the key of an attribute. names maps Pyroscope's names of profiles to those of
	// this format, where they differ.
	labelName func(key string) string
	names     map[string]string
	// encode encodes the labels of a series. bytes returns an upper bound of the bytes that append adds for the series. end follows the
	// last one.
	encode func(labels []series.Label) []byte
	bytes  func(labels, profile []byte) int
	append func(dst, labels, profile []byte, id [16]byte) []byte
	end    string
}

var pushFormat = seriesFormat{
	path:      "/push.v1.PusherService/Push",
	header:    http.Header{"Content-Type": {"application/proto"}, "Connect-Protocol-Version": {"1"}},
	labelName: series.Name,
	encode:    labelsAsPairs,
	bytes:     pushSeriesBytes,
	append:    appendPushSeries,
}

var parcaFormat = seriesFormat{
	path:      "/api/profiles/writeraw", // Parca accepts it over HTTP as well as over gRPC.
	header:    http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json"}},
	labelName: series.PrometheusName,
	names:     map[string]string{"goroutines": "goroutine"}, // the name that Parca's own scraper uses
	encode:    labelsAsJSON,
	bytes:     rawSeriesBytes,
	append:    appendRawSeries,
	end:       rawEnd,
}

// errOtherHeaders means that the pprofs of a batch have other resource headers.
var errOtherHeaders = errors.New("the pprofs of the request have other resource headers")

// addSeries returns what adds payloads to a request of a format.
func (d *httpDestination) addSeries(s *seriesFormat) func(batch *httpBatch, payload *pprof.Payload) error {
	target := d.target(s.path)
	return func(batch *httpBatch, payload *pprof.Payload) error {
		headers, err := d.resourceHeaders(payload, new(attributes))
		if err != nil {
			return err
		}
		if batch.payloads > 0 && !maps.Equal(headers, batch.headers) {
			return errOtherHeaders
		}
		compressed, err := d.gzip(batch, payload)
		if err != nil {
			return err
		}
		labels := d.labels(batch, payload, s.labelName)
		name := series.MetricName(payload.ProfileType, payload.SampleTypes)
		encoded := s.encode(labels.All(series.Label{Name: "__name__", Value: cmp.Or(s.names[name], name)}))
		if err := batch.grow(s.bytes(encoded, compressed)); err != nil {
			return err
		}
		batch.target, batch.header, batch.headers, batch.end = target.String(), s.header, headers, s.end
		batch.body = s.append(batch.body, encoded, compressed, delivery.ProfileID(payload))
		batch.count(payload, labels.Dropped)
		return nil
	}
}

// appendPushSeries appends one series of Pyroscope's message push.v1.PushRequest, with one profile. A request has no other fields, so a request is the
// concatenation of its series.
func appendPushSeries(dst, labels, profile []byte, id [16]byte) []byte {
	sample := fieldBytes(len(profile)) + fieldBytes(uuidBytes)
	dst = appendLength(dst, 1, len(labels)+fieldBytes(sample))
	dst = append(dst, labels...)
	dst = appendLength(dst, 2, sample)
	dst = protowire.AppendBytes(protowire.AppendTag(dst, 1, protowire.BytesType), profile)
	return appendString(dst, 2, uuid(id))
}

// pushSeriesBytes returns the number of bytes that appendPushSeries appends.
func pushSeriesBytes(labels, profile []byte) int {
	return fieldBytes(len(labels) + fieldBytes(fieldBytes(len(profile))+fieldBytes(uuidBytes)))
}

// labelsAsPairs returns the labels as messages LabelPair.
func labelsAsPairs(list []series.Label) (pairs []byte) {
	for _, label := range list {
		pairs = appendLength(pairs, 1, fieldBytes(len(label.Name))+fieldBytes(len(label.Value)))
		pairs = appendString(appendString(pairs, 1, label.Name), 2, label.Value)
	}
	return pairs
}

// fieldBytes returns the size of a field of n bytes, with its tag and length.
func fieldBytes(n int) int { return protowire.SizeTag(1) + protowire.SizeBytes(n) }

// appendLength appends the tag and the length of a message.
func appendLength(dst []byte, field protowire.Number, n int) []byte {
	return protowire.AppendVarint(protowire.AppendTag(dst, field, protowire.BytesType), uint64(n))
}

func appendString(dst []byte, field protowire.Number, value string) []byte {
	return protowire.AppendString(protowire.AppendTag(dst, field, protowire.BytesType), value)
}

// uuidBytes is the length of the text of a UUID.
const uuidBytes = 36

// uuid returns an id in the text form of a UUID.
func uuid(id [16]byte) string {
	digits := hex.EncodeToString(id[:])
	return digits[:8] + "-" + digits[8:12] + "-" + digits[12:16] + "-" + digits[16:20] + "-" + digits[20:]
}

// The parts of Parca's message WriteRawRequest as JSON.
const (
	rawBegin     = `{"series":[`
	rawLabels    = `{"labels":{"labels":`
	rawProfile   = `},"samples":[{"rawProfile":"`
	rawSeriesEnd = `"}]}`

	// rawEnd is the end of a message.
	rawEnd = `]}`
)

// appendRawSeries appends one series with one profile to a message. If dst is empty, it writes the start of the message first.
func appendRawSeries(dst, labels, pprof []byte, _ [16]byte) []byte {
	if len(dst) == 0 {
		dst = append(dst, rawBegin...)
	} else {
		dst = append(dst, ',')
	}
	dst = append(append(dst, rawLabels...), labels...)
	dst = append(dst, rawProfile...)
	dst = base64.StdEncoding.AppendEncode(dst, pprof)
	return append(dst, rawSeriesEnd...)
}

// rawSeriesBytes returns the maximum number of bytes that appendRawSeries and rawEnd append.
func rawSeriesBytes(labels, pprof []byte) int {
	return len(rawBegin+rawLabels+rawProfile+rawSeriesEnd+rawEnd) + len(labels) + base64.StdEncoding.EncodedLen(len(pprof))
}

// labelsAsJSON returns the labels as a JSON array of objects with name and value.
func labelsAsJSON(list []series.Label) []byte {
	text, _ := json.Marshal(list) // strings cannot fail
	return text
}
