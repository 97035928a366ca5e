// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package upload

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/otelpprof/otelpprof/internal/memory/meter"
	"github.com/otelpprof/otelpprof/internal/testkit/must"
	"github.com/otelpprof/otelpprof/processor/profilesymbolizer/internal/source"
)

func TestParca(t *testing.T) {
	x := newTarget(t, time.Minute, time.Minute)
	x.upload(t, idA, large(9<<20))
	assert.True(t, x.files.Has(idA))
	assert.Equal(t, map[string]int{Stored: 1}, x.counts())

	should := must.Get(x.call(t, "ShouldInitiateUpload", message(1, idA)))(t)
	assert.Equal(t, map[int]string{2: "the binary is there already"}, should)
	_, err := x.call(t, "InitiateUpload", message(1, idA, 2, 1000))
	assert.Equal(t, codes.AlreadyExists, status.Code(err))
	_, err = x.send(t, uploadOf(idA, "1000", make([]byte, 1000), 1000))
	assert.Equal(t, codes.AlreadyExists, status.Code(err))
}

// With force, a file is replaced.
func TestForce(t *testing.T) {
	x := newTarget(t, time.Minute, time.Minute)
	x.upload(t, idA, large(10))
	should := must.Get(x.call(t, "ShouldInitiateUpload", message(1, idA, 3, 1)))(t)
	assert.Equal(t, "1", should[1])
	file := large(20)
	initiated := must.Get(x.call(t, "InitiateUpload", message(1, strings.ToUpper(idA), 2, len(file), 4, 1)))(t)
	instructions := decode(t, []byte(initiated[1]))
	_, err := x.send(t, uploadOf(idA, instructions[2], file, 1))
	require.NoError(t, err)
	assert.Equal(t, map[string]int{Stored: 2}, x.counts())
}

func post(t *testing.T, url, contentType string, body io.Reader) (int, []byte) {
	t.Helper()
	request := must.Get(http.NewRequestWithContext(t.Context(), http.MethodPost, url, body))(t)
	request.Header.Set("Content-Type", contentType)
	response := must.Get(http.DefaultClient.Do(request))(t)
	defer response.Body.Close()
	text := must.Get(io.ReadAll(response.Body))(t)
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

// A disk that cannot be written is no fault of the client, who is not told its paths.
func TestFailed(t *testing.T) {
	x := newTarget(t, time.Minute, time.Minute)
	occupied := filepath.Join(x.files.Directory, "file")
	require.NoError(t, os.WriteFile(occupied, nil, 0o600))
	x.files.Directory = occupied
	file := large(10)
	_, err := x.send(t, uploadOf(idA, strconv.Itoa(len(file)), file, 1<<20))
	assert.Equal(t, codes.Unavailable, status.Code(err))
	assert.ErrorContains(t, err, "the file cannot be stored now")
	assert.NotContains(t, err.Error(), occupied)
	assert.Equal(t, map[string]int{Failed: 1}, x.counts())
}

// Headers that need more memory than is allowed are the fault of the file.
func TestHeadersTooLarge(t *testing.T) {
	x := newTarget(t, time.Minute, time.Minute)
	x.files.Memory = func(context.Context) (*meter.Meter, func()) {
		return meter.New(0, func(total int64) error {
			if total > 1<<18 {
				return source.ErrTooLarge
			}
			return nil
		}), func() {}
	}
	file := large(10)
	_, err := x.send(t, uploadOf(idA, strconv.Itoa(len(file)), file, 1<<20))
	assert.Equal(t, codes.InvalidArgument, status.Code(err), "%v", err)
	assert.Equal(t, map[string]int{"size": 1}, x.counts())
}
