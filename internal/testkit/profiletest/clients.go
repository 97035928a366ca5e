// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profiletest

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"encoding/json"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/otelpprof/otelpprof/internal/testkit/must"
)

// Capture is a request, or a response, of a real profiler client, as it stood on the wire.
type Capture struct {
	// Name is the path below testdata/clients without suffix, such as pyroscope-go/05-cpu.
	Name string
	// StartLine is the request line or status line.
	StartLine string
	Header    http.Header
	// Body is empty for requests without one.
	Body []byte
}

// Captures returns all of testdata/clients in order of their names.
func Captures(tb testing.TB) []Capture {
	tb.Helper()
	const suffix = ".headers.txt"
	root := Testdata(tb, "clients")
	paths := must.Get(filepath.Glob(filepath.Join(root, "*", "*"+suffix)))(tb)
	require.NotEmpty(tb, paths)
	captures := make([]Capture, 0, len(paths))
	for _, path := range paths {
		name := must.Get(filepath.Rel(root, strings.TrimSuffix(path, suffix)))(tb)
		captures = append(captures, readCapture(tb, root, filepath.ToSlash(name)))
	}
	return captures
}

func readCapture(tb testing.TB, root, name string) Capture {
	tb.Helper()
	head := must.Get(os.ReadFile(filepath.Join(root, name+".headers.txt")))(tb)
	startLine, headers, _ := strings.Cut(string(head), "\n")
	header, err := textproto.NewReader(bufio.NewReader(strings.NewReader(strings.TrimRight(headers, "\n") + "\n\n"))).ReadMIMEHeader()
	require.NoError(tb, err, name)
	body, err := os.ReadFile(filepath.Join(root, name+".body"))
	if !os.IsNotExist(err) {
		require.NoError(tb, err)
	}
	return Capture{Name: name, StartLine: startLine, Header: http.Header(header), Body: body}
}

// Payload returns the pprof in the body: part names the field of a multipart form, or series[0].samples[0] of a
// PushRequest; "-" stands for the whole body.
func (c Capture) Payload(tb testing.TB, part string) []byte {
	tb.Helper()
	mediaType, parameters, err := mime.ParseMediaType(c.Header.Get("Content-Type"))
	require.NoError(tb, err, c.Name)
	switch {
	case part == "-":
		return c.Body
	case mediaType == "multipart/form-data":
		return formField(tb, c, parameters["boundary"], part)
	case mediaType == "application/proto":
		// PushRequest.series = 1, RawProfileSeries.samples = 2, RawSample.raw_profile = 1.
		return firstField(tb, firstField(tb, firstField(tb, c.Body, 1), 2), 1)
	case mediaType == "application/json":
		var push struct {
			Series []struct {
				Samples []struct {
					RawProfile []byte `json:"rawProfile"`
				} `json:"samples"`
			} `json:"series"`
		}
		require.NoError(tb, json.Unmarshal(c.Body, &push), c.Name)
		return push.Series[0].Samples[0].RawProfile
	}
	tb.Fatalf("%s: no part %q in a body of type %s", c.Name, part, mediaType)
	return nil
}

func formField(tb testing.TB, c Capture, boundary, name string) []byte {
	tb.Helper()
	form := multipart.NewReader(bytes.NewReader(c.Body), boundary)
	for {
		part, err := form.NextRawPart()
		require.NoError(tb, err, "%s: no field %q", c.Name, name)
		if part.FormName() == name {
			content := must.Get(io.ReadAll(part))(tb)
			return content
		}
	}
}

// firstField returns the first field of a protobuf message that has this number and holds bytes.
func firstField(tb testing.TB, message []byte, number protowire.Number) []byte {
	tb.Helper()
	for len(message) > 0 {
		found, kind, n := protowire.ConsumeTag(message)
		require.Positive(tb, n)
		message = message[n:]
		if found == number && kind == protowire.BytesType {
			content, n := protowire.ConsumeBytes(message)
			require.Positive(tb, n)
			return content
		}
		n = protowire.ConsumeFieldValue(found, kind, message)
		require.Positive(tb, n)
		message = message[n:]
	}
	tb.Fatalf("no field %d", number)
	return nil
}

// ClientPayload is one pprof that a client sent, with what is known of it (a row of testdata/clients/EXPECTED.tsv).
type ClientPayload struct {
	// File is the name of the capture, Part the place in its body.
	File, Part string
	// Data is the pprof in the compression of the client.
	Data []byte

	// Legacy: the payload is one of the older text formats, and nothing else is known.
	Legacy        bool
	InflatedBytes int
	// SampleTypes are type/unit, in the order of the payload, as are the ValueSums over all samples.
	SampleTypes []string
	ValueSums   []int64
	Samples     int
	// DistinctStackAndLabels is the number of samples that remain when equal ones are combined.
	DistinctStackAndLabels         int
	Locations, Functions, Mappings int
	PeriodType                     string
	Period, Time, Duration         int64
	DefaultSampleType              string
	StringLabels, NumLabels        map[string]int
	SamplesWithSpanLabel           int
}

// ClientPayloads returns all pprofs that the captures hold.
func ClientPayloads(tb testing.TB) []ClientPayload {
	tb.Helper()
	captures := map[string]Capture{}
	for _, c := range Captures(tb) {
		captures[c.Name] = c
	}
	file := must.Get(os.Open(Testdata(tb, "clients", "EXPECTED.tsv")))(tb)
	defer file.Close()
	rows := csv.NewReader(file)
	rows.Comma = '\t'
	rows.LazyQuotes = true
	records := must.Get(rows.ReadAll())(tb)

	payloads := make([]ClientPayload, 0, len(records)-1)
	for _, record := range records[1:] {
		row := map[string]string{}
		for i, cell := range record {
			if cell != "-" {
				row[records[0][i]] = cell
			}
		}
		capture, ok := captures[row["file"]]
		require.True(tb, ok, "no capture %s", row["file"])
		payload := clientPayload(tb, row)
		payload.Part = record[1]
		payload.Data = capture.Payload(tb, payload.Part)
		payloads = append(payloads, payload)
	}
	return payloads
}

func clientPayload(tb testing.TB, row map[string]string) ClientPayload {
	tb.Helper()
	number := func(column string) int64 {
		if row[column] == "" {
			return 0
		}
		n, err := strconv.ParseInt(row[column], 10, 64)
		require.NoError(tb, err, "%s of %s", column, row["file"])
		return n
	}
	count := func(column string) int { return int(number(column)) }
	p := ClientPayload{
		File: row["file"], Legacy: strings.HasPrefix(row["sample_types"], "(legacy"),
		InflatedBytes: count("inflated_bytes"), Samples: count("samples"),
		DistinctStackAndLabels: count("distinct_stack_and_labels"),
		Locations:              count("locations"), Functions: count("functions"), Mappings: count("mappings"),
		PeriodType: row["period_type"], Period: number("period"), Time: number("time_unix_nano"), Duration: number("duration_nano"),
		DefaultSampleType: row["default_sample_type"],
		StringLabels:      labelCounts(tb, row["string_labels"]), NumLabels: labelCounts(tb, row["num_labels"]),
		SamplesWithSpanLabel: count("samples_with_span_label"),
	}
	if !p.Legacy {
		p.SampleTypes = strings.Split(row["sample_types"], ",")
		for sum := range strings.SplitSeq(row["value_sums"], ",") {
			n := must.Get(strconv.ParseInt(sum, 10, 64))(tb)
			p.ValueSums = append(p.ValueSums, n)
		}
	}
	return p
}

// labelCounts reads key=count,key=count.
func labelCounts(tb testing.TB, text string) map[string]int {
	tb.Helper()
	counts := map[string]int{}
	for pair := range strings.SplitSeq(text, ",") {
		if key, n, ok := strings.Cut(pair, "="); ok {
			count := must.Get(strconv.Atoi(n))(tb)
			counts[key] = count
		}
	}
	return counts
}
