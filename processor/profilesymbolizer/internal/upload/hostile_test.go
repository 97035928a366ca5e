// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package upload

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"net/http"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/otelpprof/otelpprof/internal/testkit/elftest"
)

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
		"more than a body has":  {append(uploadOf(idA, size, nil, 1), padding(16<<20+room)...), codes.InvalidArgument, "(max_request_body_size)", "size"},
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
			_, err = x.files.Check(idA, 1, false)
			assert.NoError(t, err, "its place is free")
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

// A file goes to disk in parts, also one that is sent in large messages.
func TestMemory(t *testing.T) {
	const size, frame = 64 << 20, 8 << 20
	x := newTarget(t, time.Minute, time.Minute)
	x.files.MaxBytes, x.files.MaxFileBytes = 2*size, size
	file := elftest.WithSymbols(idA, "a")
	body := func(announced string) io.Reader {
		framed := func(message []byte, more int) io.Reader {
			prefix := binary.BigEndian.AppendUint32([]byte{0}, uint32(len(message)+more))
			return io.MultiReader(bytes.NewReader(append(prefix, message...)), io.LimitReader(endless{}, int64(more)))
		}
		parts := []io.Reader{framed(message(1, message(1, idA, 2, announced)), 0), framed(message(2, file), 0)}
		for rest := size - len(file); rest > 0; rest -= frame {
			n := min(frame, rest)
			parts = append(parts, framed(protowire.AppendVarint(protowire.AppendTag(nil, 2, protowire.BytesType), uint64(n)), n))
		}
		return io.MultiReader(parts...)
	}
	for name, one := range map[string]struct {
		path, contentType string
		body              io.Reader
	}{
		"parca":     {service + "Upload", typeGRPC, body(strconv.Itoa(size) + replaceSuffix)},
		"pyroscope": {"/debuginfo.v1alpha1.DebuginfoService/Upload/" + idA, "", io.MultiReader(bytes.NewReader(file), io.LimitReader(endless{}, int64(size-len(file))))},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		protocols := &http.Protocols{}
		protocols.SetHTTP1(one.contentType == "")
		protocols.SetUnencryptedHTTP2(one.contentType != "")
		transport := &http.Transport{Protocols: protocols}
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, x.url+one.path, one.body)
		require.NoError(t, err)
		request.Header.Set("Content-Type", one.contentType)
		response, err := transport.RoundTrip(request)
		require.NoError(t, err)
		text, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		transport.CloseIdleConnections()
		require.Equal(t, http.StatusOK, response.StatusCode, "%s", text)
		require.True(t, x.files.Has(idA), "%s %v", name, response.Header)
		require.NoError(t, os.RemoveAll(x.files.Directory))
		runtime.ReadMemStats(&after)
		t.Logf("%s: %d kB allocated", name, (after.TotalAlloc-before.TotalAlloc)>>10)
		assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(size/2), name) // Pools keep less with the race detector.
	}
}

// Above the limit of requests in progress, one is refused at once and counted, and the others go on.
func TestRequestsInProgress(t *testing.T) {
	x := newTarget(t, time.Minute, time.Minute)
	ctx, leave := context.WithCancel(t.Context())
	for range maxRequests + 10 { // The calls below can take the place of some.
		_, err := x.conn.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true}, service+"Upload")
		require.NoError(t, err)
	}
	require.Eventually(t, func() bool {
		_, err := x.call(t, "ShouldInitiateUpload", message(1, idA))
		return status.Code(err) == codes.Unavailable && strings.Contains(err.Error(), "256 requests are in progress, which is the limit")
	}, time.Minute, time.Millisecond)
	assert.GreaterOrEqual(t, x.counts()["busy"], 10)
	leave()
	require.Eventually(t, func() bool {
		_, err := x.call(t, "ShouldInitiateUpload", message(1, idA))
		return err == nil
	}, time.Minute, time.Millisecond)
}

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
	}, time.Minute, time.Millisecond)
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
