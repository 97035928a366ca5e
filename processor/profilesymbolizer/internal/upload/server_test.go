// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package upload

import (
	"bytes"
	"context"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/otelpprof/otelpprof/internal/memory/meter"
	"github.com/otelpprof/otelpprof/internal/testkit/elftest"
	"github.com/otelpprof/otelpprof/processor/profilesymbolizer/internal/source"
)

const (
	idA     = "aa0102030405060708090a0b0c0d0e0f10111213"
	idB     = "bb0102030405060708090a0b0c0d0e0f10111213"
	service = "/parca.debuginfo.v1alpha1.DebuginfoService/"
)

// maxBody is the longest body of a request, which leaves room for the largest file.
const maxBody = 20 << 20

// target is a server for uploads, and what it reports.
type target struct {
	files *source.Uploads
	url   string
	conn  *grpc.ClientConn

	mu      sync.Mutex
	results map[string]int
}

func newTarget(t *testing.T, stall, most time.Duration) *target {
	t.Helper()
	x := &target{results: map[string]int{}}
	x.files = &source.Uploads{
		Directory: t.TempDir(), MaxBytes: 64 << 20, MaxFileBytes: 16 << 20, Stored: func(string) {},
		Memory: func(context.Context) (*meter.Meter, func(), error) { return nil, func() {}, nil },
	}
	handler := Handler(x.files, stall, most, func(result string, err error) {
		x.mu.Lock()
		defer x.mu.Unlock()
		assert.Equal(t, result == Stored, err == nil)
		x.results[result]++
	})
	server := httptest.NewUnstartedServer(http.MaxBytesHandler(handler, maxBody))
	server.Config.Protocols = &http.Protocols{}
	server.Config.Protocols.SetHTTP1(true)
	server.Config.Protocols.SetUnencryptedHTTP2(true)
	server.Start()
	t.Cleanup(server.Close)
	x.url = server.URL
	var err error
	x.conn, err = grpc.NewClient(server.Listener.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.ForceCodecV2(raw{})))
	require.NoError(t, err)
	t.Cleanup(func() { _ = x.conn.Close() })
	return x
}

func (x *target) counts() map[string]int {
	x.mu.Lock()
	defer x.mu.Unlock()
	return maps.Clone(x.results)
}

// raw sends and receives encoded messages.
type raw struct{}

func (raw) Name() string { return "proto" }

func (raw) Marshal(v any) (mem.BufferSlice, error) {
	return mem.BufferSlice{mem.SliceBuffer(v.([]byte))}, nil
}

func (raw) Unmarshal(data mem.BufferSlice, v any) error {
	*v.(*[]byte) = data.Materialize()
	return nil
}

// message encodes fields: number, value, number, value.
func message(fields ...any) (b []byte) {
	for i := 0; i < len(fields); i += 2 {
		number := protowire.Number(fields[i].(int))
		switch v := fields[i+1].(type) {
		case string:
			b = protowire.AppendString(protowire.AppendTag(b, number, protowire.BytesType), v)
		case []byte:
			b = protowire.AppendBytes(protowire.AppendTag(b, number, protowire.BytesType), v)
		case int:
			b = protowire.AppendVarint(protowire.AppendTag(b, number, protowire.VarintType), uint64(v))
		}
	}
	return b
}

// decode returns the fields of a message.
func decode(t *testing.T, b []byte) map[int]string {
	t.Helper()
	fields := map[int]string{}
	for len(b) > 0 {
		number, kind, n := protowire.ConsumeTag(b)
		require.Positive(t, n)
		b = b[n:]
		if kind == protowire.VarintType {
			v, n := protowire.ConsumeVarint(b)
			fields[int(number)], b = strconv.FormatUint(v, 10), b[n:]
		} else {
			v, n := protowire.ConsumeBytes(b)
			require.Positive(t, n)
			fields[int(number)], b = string(v), b[n:]
		}
	}
	return fields
}

func (x *target) call(t *testing.T, method string, request []byte) (map[int]string, error) {
	t.Helper()
	var response []byte
	if err := x.conn.Invoke(t.Context(), service+method, request, &response); err != nil {
		return nil, err
	}
	return decode(t, response), nil
}

// send calls Upload with these messages.
func (x *target) send(t *testing.T, messages [][]byte) (map[int]string, error) {
	t.Helper()
	stream, err := x.conn.NewStream(t.Context(), &grpc.StreamDesc{ClientStreams: true}, service+"Upload")
	require.NoError(t, err)
	for _, m := range messages {
		if err := stream.SendMsg(m); err != nil {
			require.ErrorIs(t, err, io.EOF)
			break
		}
	}
	require.NoError(t, stream.CloseSend())
	var response []byte
	if err := stream.RecvMsg(&response); err != nil {
		return nil, err
	}
	return decode(t, response), nil
}

// uploadOf returns the messages of a file, in chunks of a size.
func uploadOf(buildID, uploadID string, file []byte, chunk int) [][]byte {
	messages := [][]byte{message(1, message(1, buildID, 2, uploadID, 3, 0))}
	for len(file) > 0 {
		n := min(chunk, len(file))
		messages = append(messages, message(2, file[:n]))
		file = file[n:]
	}
	return messages
}

// large returns a file with symbols and so many bytes.
func large(size int) []byte {
	return append(elftest.WithSymbols(idA, "a"), make([]byte, size)...)
}

// padding returns messages with chunks that have no bytes, with the length of the field in ten bytes.
func padding(size int) (messages [][]byte) {
	empty := []byte{0x12, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x00}
	for ; size > 0; size -= 1 << 20 {
		messages = append(messages, bytes.Repeat(empty, 1<<20/len(empty)+1))
	}
	return messages
}

// upload does what Parca's agent does: it asks, announces, sends in chunks of 8 MiB, and says that it has finished.
func (x *target) upload(t *testing.T, id string, file []byte) {
	t.Helper()
	should, err := x.call(t, "ShouldInitiateUpload", message(1, id, 4, 0, 5, 1))
	require.NoError(t, err)
	require.Equal(t, "1", should[1], should[2])
	initiated, err := x.call(t, "InitiateUpload", message(1, id, 2, len(file), 3, "hash", 5, 0, 6, 1))
	require.NoError(t, err)
	instructions := decode(t, []byte(initiated[1]))
	require.Equal(t, "1", instructions[3], "by gRPC")
	response, err := x.send(t, uploadOf(instructions[1], instructions[2], file, 8<<20))
	require.NoError(t, err)
	assert.Equal(t, map[int]string{1: id, 2: strconv.Itoa(len(file))}, response)
	finished, err := x.call(t, "MarkUploadFinished", message(1, id, 2, instructions[2]))
	require.NoError(t, err)
	assert.Empty(t, finished)
}

func TestParca(t *testing.T) {
	x := newTarget(t, time.Minute, time.Minute)
	x.upload(t, idA, large(9<<20))
	assert.True(t, x.files.Has(idA))
	assert.Equal(t, map[string]int{Stored: 1}, x.counts())

	should, err := x.call(t, "ShouldInitiateUpload", message(1, idA))
	require.NoError(t, err)
	assert.Equal(t, map[int]string{2: "the binary is there already"}, should)
	_, err = x.call(t, "InitiateUpload", message(1, idA, 2, 1000))
	assert.Equal(t, codes.AlreadyExists, status.Code(err))
	_, err = x.send(t, uploadOf(idA, "1000", make([]byte, 1000), 1000))
	assert.Equal(t, codes.AlreadyExists, status.Code(err))
}

// With force, a file is replaced.
func TestForce(t *testing.T) {
	x := newTarget(t, time.Minute, time.Minute)
	x.upload(t, idA, large(10))
	should, err := x.call(t, "ShouldInitiateUpload", message(1, idA, 3, 1))
	require.NoError(t, err)
	assert.Equal(t, "1", should[1])
	file := large(20)
	initiated, err := x.call(t, "InitiateUpload", message(1, strings.ToUpper(idA), 2, len(file), 4, 1))
	require.NoError(t, err)
	instructions := decode(t, []byte(initiated[1]))
	_, err = x.send(t, uploadOf(idA, instructions[2], file, 1))
	require.NoError(t, err)
	assert.Equal(t, map[string]int{Stored: 2}, x.counts())
}

func post(t *testing.T, url, contentType string, body io.Reader) (int, []byte) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, body)
	require.NoError(t, err)
	request.Header.Set("Content-Type", contentType)
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return response.StatusCode, text
}

// TestPyroscope does what Grafana Alloy does.
func TestPyroscope(t *testing.T) {
	x := newTarget(t, time.Minute, time.Minute)
	api := x.url + "/debuginfo.v1alpha1.DebuginfoService/"
	ask := func(id string) (int, map[int]string) {
		code, response := post(t, api+"ShouldInitiateUpload", typeProto, bytes.NewReader(message(1, message(1, id, 3, "hash", 4, "name", 5, 1))))
		if code != http.StatusOK {
			return code, map[int]string{0: string(response)}
		}
		return code, decode(t, response)
	}
	finish := func() (int, []byte) {
		return post(t, api+"UploadFinished", typeProto, bytes.NewReader(message(1, idA)))
	}
	_, should := ask(idA)
	require.Equal(t, "1", should[1])
	code, response := finish()
	assert.Equal(t, http.StatusPreconditionFailed, code)
	assert.JSONEq(t, `{"code": "failed_precondition", "message": "no file of this build_id was uploaded"}`, string(response))

	// The length of the body is not known.
	code, response = post(t, api+"Upload/"+idA, "", io.MultiReader(bytes.NewReader(large(1<<20))))
	require.Equal(t, http.StatusOK, code, "%s", response)
	code, response = finish()
	assert.Equal(t, http.StatusOK, code)
	assert.Empty(t, response)
	_, should = ask(idA)
	assert.Equal(t, map[int]string{2: "the binary is there already"}, should)
	_, should = ask("")
	assert.Equal(t, map[int]string{2: "The file has no build id."}, should)
	code, should = ask("../../etc")
	assert.Equal(t, http.StatusBadRequest, code)
	assert.Contains(t, should[0], "hexadecimal digits")

	for path, want := range map[string]int{
		idA: http.StatusConflict, idB: http.StatusBadRequest, "..%2f..%2faaaabbbb": http.StatusBadRequest, "../../aaaabbbb": http.StatusNotFound,
	} {
		code, _ = post(t, api+"Upload/"+path, "", bytes.NewReader(large(10)))
		assert.Equal(t, want, code, path)
	}
	code, _ = post(t, api+"ShouldInitiateUpload", "application/json", strings.NewReader("{}"))
	assert.Equal(t, http.StatusUnsupportedMediaType, code)
	assert.Equal(t, map[string]int{Stored: 1, "missing": 1, "build_id": 3, "exists": 1, "malformed": 1}, x.counts())
}

// What a client sends that is not an upload is refused, with what it did wrong, and counted.
func TestParcaRefuses(t *testing.T) {
	file := large(1 << 20)
	size := strconv.Itoa(len(file))
	for name, test := range map[string]struct {
		messages     [][]byte
		code         codes.Code
		text, result string
	}{
		"nothing":               {nil, codes.DeadlineExceeded, "there is no message", "incomplete"},
		"no info":               {uploadOf(idA, size, file, 1<<20)[1:], codes.InvalidArgument, "it must have info", "malformed"},
		"info twice":            {append(uploadOf(idA, size, nil, 1), uploadOf(idA, size, nil, 1)...), codes.InvalidArgument, "it must have chunk_data", "malformed"},
		"no upload_id":          {uploadOf(idA, "", file, 1<<20), codes.InvalidArgument, `upload_id ""`, "malformed"},
		"a negative size":       {uploadOf(idA, "-1", file, 1<<20), codes.InvalidArgument, "the file has 0 bytes, 1 to 16777216", "size"},
		"a long build id":       {uploadOf(strings.Repeat("a", 2000), size, file, 1<<20), codes.InvalidArgument, "more than 1024 bytes", "malformed"},
		"a path":                {uploadOf("../../"+idA, size, file, 1<<20), codes.InvalidArgument, "hexadecimal digits", "build_id"},
		"another build id":      {uploadOf(idB, size, file, 1<<20), codes.InvalidArgument, "has another build id than build_id, " + idB, "build_id"},
		"too little":            {uploadOf(idA, size, file[:1000], 1<<20), codes.InvalidArgument, "1000 bytes arrived, " + size + " were announced", "size"},
		"too much":              {uploadOf(idA, "1000", file, 1<<20), codes.InvalidArgument, "more than the 1000 bytes", "size"},
		"more than is allowed":  {uploadOf(idA, "16777217", file, 1<<20), codes.InvalidArgument, "16777217 bytes, 1 to 16777216 are allowed", "size"},
		"no file":               {uploadOf(idA, "4000", make([]byte, 4000), 1<<20), codes.InvalidArgument, "malformed ELF file", "malformed"},
		"no protobuf":           {[][]byte{bytes.Repeat([]byte{0xff}, 100)}, codes.InvalidArgument, "cannot read a tag", "malformed"},
		"a length of 16 EiB":    {[][]byte{{0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01, 0x00}}, codes.InvalidArgument, "", ""},
		"more than a body has":  {append(uploadOf(idA, size, nil, 1), padding(maxBody)...), codes.InvalidArgument, "(max_request_body_size)", "size"},
		"a chunk without bytes": {append(uploadOf(idA, "10", nil, 1), []byte{0x12, 0x0a, 0x00}), codes.InvalidArgument, "field 2 ends 9 bytes early", "malformed"},
	} {
		t.Run(name, func(t *testing.T) {
			x := newTarget(t, time.Minute, time.Minute)
			_, err := x.send(t, test.messages)
			assert.Equal(t, test.code, status.Code(err), "%v", err)
			assert.ErrorContains(t, err, test.text)
			if test.result != "" {
				assert.Equal(t, map[string]int{test.result: 1}, x.counts())
			}
			assert.False(t, x.files.Has(idA))
			x.upload(t, idA, file)
		})
	}
}

// Calls before an upload are refused with the same reasons.
func TestCallsRefuse(t *testing.T) {
	x := newTarget(t, time.Minute, time.Minute)
	_, err := x.call(t, "InitiateUpload", message(1, idA, 2, 16<<20+1))
	assert.Equal(t, codes.InvalidArgument, status.Code(err))
	assert.ErrorContains(t, err, "1 to 16777216 are allowed (max_file_size)")
	for _, announced := range [][]byte{message(1, idA), message(1, idA, 2, -1)} {
		_, err = x.call(t, "InitiateUpload", announced)
		assert.ErrorContains(t, err, "the file has 0 bytes")
	}
	_, err = x.call(t, "ShouldInitiateUpload", message(1, "xyz"))
	assert.Equal(t, codes.InvalidArgument, status.Code(err))
	_, err = x.call(t, "MarkUploadFinished", message(1, idA))
	assert.Equal(t, codes.FailedPrecondition, status.Code(err))
	var response []byte
	err = x.conn.Invoke(t.Context(), service+"ShouldInitiateUpload", message(1, idA), &response, grpc.UseCompressor(gzip.Name))
	assert.Equal(t, codes.Unimplemented, status.Code(err))
	assert.ErrorContains(t, err, "a message is compressed")
	_, err = x.call(t, "Download", nil)
	assert.Equal(t, codes.Unimplemented, status.Code(err))
	assert.Equal(t, map[string]int{"size": 3, "build_id": 1, "missing": 1, "malformed": 1}, x.counts())
}

// A client that stops sending, or never ends, does not keep its place.
func TestHostileClients(t *testing.T) {
	for name, test := range map[string]struct {
		stall, most time.Duration
		every       time.Duration
	}{
		"stalled": {50 * time.Millisecond, time.Minute, time.Hour},
		"slow":    {time.Minute, 100 * time.Millisecond, 5 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			x := newTarget(t, test.stall, test.most)
			stream, err := x.conn.NewStream(t.Context(), &grpc.StreamDesc{ClientStreams: true}, service+"Upload")
			require.NoError(t, err)
			for _, m := range uploadOf(idA, "10000000", []byte("\x7fELF"), 1) {
				require.NoError(t, stream.SendMsg(m))
			}
			ended := make(chan error, 1)
			go func() {
				var response []byte
				ended <- stream.RecvMsg(&response)
			}()
			ticker := time.NewTicker(test.every)
			defer ticker.Stop()
			for open := true; open; {
				select {
				case err = <-ended:
					open = false
				case <-ticker.C:
					_ = stream.SendMsg(message(2, "a"))
				case <-time.After(time.Minute):
					t.Fatal("it does not end")
				}
			}
			assert.Equal(t, codes.DeadlineExceeded, status.Code(err), "%v", err)
			assert.Equal(t, 1, x.counts()["incomplete"])
			x.upload(t, idA, large(10))
		})
	}
	t.Run("over HTTP", func(t *testing.T) {
		x := newTarget(t, 50*time.Millisecond, time.Minute)
		body, w := io.Pipe()
		defer w.Close()
		go func() { _, _ = w.Write([]byte("\x7fELF")) }()
		code, _ := post(t, x.url+"/debuginfo.v1alpha1.DebuginfoService/Upload/"+idA, "", body)
		assert.Equal(t, http.StatusRequestTimeout, code)
	})
	t.Run("endless", func(t *testing.T) {
		x := newTarget(t, time.Minute, time.Minute)
		code, text := post(t, x.url+"/debuginfo.v1alpha1.DebuginfoService/Upload/"+idA, "", endless{})
		assert.Equal(t, http.StatusBadRequest, code)
		assert.Contains(t, string(text), "more than 16777216 bytes arrive")
	})
}

type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

// An agent that asks while another one sends the binary is told what it knows as a reason to ask again.
func TestInProgress(t *testing.T) {
	x := newTarget(t, time.Minute, time.Minute)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	stream, err := x.conn.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true}, service+"Upload")
	require.NoError(t, err)
	require.NoError(t, stream.SendMsg(uploadOf(idA, "100", nil, 1)[0]))
	require.Eventually(t, func() bool {
		should, err := x.call(t, "ShouldInitiateUpload", message(1, idA))
		return err == nil && should[1] == "" && should[2] == reasonInProgress
	}, 10*time.Second, time.Millisecond)
	_, err = x.call(t, "InitiateUpload", message(1, idA, 2, 100))
	assert.Equal(t, codes.FailedPrecondition, status.Code(err))
}

// Of several clients that send the same binary at once, one does, and the others are told so.
func TestConcurrentClients(t *testing.T) {
	x := newTarget(t, time.Minute, time.Minute)
	file := large(4 << 20)
	var clients sync.WaitGroup
	for range 8 {
		clients.Go(func() {
			_, err := x.send(t, uploadOf(idA, strconv.Itoa(len(file)), file, 1<<20))
			if err != nil {
				assert.Contains(t, []codes.Code{codes.AlreadyExists, codes.FailedPrecondition}, status.Code(err), "%v", err)
			}
		})
	}
	clients.Wait()
	counts := x.counts()
	assert.Equal(t, 1, counts[Stored])
	assert.Equal(t, 7, counts["exists"]+counts["busy"])
}
