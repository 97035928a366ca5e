// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profiletest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protowire"
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
	paths, err := filepath.Glob(filepath.Join(root, "*", "*"+suffix))
	require.NoError(tb, err)
	require.NotEmpty(tb, paths)
	captures := make([]Capture, 0, len(paths))
	for _, path := range paths {
		name, err := filepath.Rel(root, strings.TrimSuffix(path, suffix))
		require.NoError(tb, err)
		captures = append(captures, readCapture(tb, root, filepath.ToSlash(name)))
	}
	return captures
}

func readCapture(tb testing.TB, root, name string) Capture {
	tb.Helper()
	head, err := os.ReadFile(filepath.Join(root, name+".headers.txt"))
	require.NoError(tb, err)
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
			content, err := io.ReadAll(part)
			require.NoError(tb, err)
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
