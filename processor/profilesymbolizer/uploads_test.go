// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profilesymbolizer

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/config/configauth"
	"go.opentelemetry.io/collector/config/confighttp"
	"go.opentelemetry.io/collector/config/configoptional"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/extension/extensionauth"
	"go.opentelemetry.io/collector/processor/processortest"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/otelpprof/otelpprof/internal/testkit/must"
	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
	"github.com/otelpprof/otelpprof/processor/profilesymbolizer/internal/metadata"
)

// configWithUploads returns a configuration whose server listens on loopback, and the URL of that.
func configWithUploads(t *testing.T, directory string) (*Config, string) {
	t.Helper()
	cfg := createDefaultConfig().(*Config)
	require.Nil(t, cfg.Uploads.Get(), "off by default")
	uploads := createDefaultUploads()
	uploads.HTTP.NetAddr.Endpoint = fmt.Sprintf("127.0.0.1:%d", freePort(t))
	cfg.Uploads = configoptional.Some(uploads)
	cfg.Cache.Directory = directory
	cfg.MaxWait = time.Minute
	return cfg, "http://" + uploads.HTTP.NetAddr.Endpoint
}

// parcaCall makes a call of Parca's service over gRPC without TLS, and returns its response.
func parcaCall(t *testing.T, url, method string, message []byte) ([]byte, error) {
	t.Helper()
	body := append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(message))), message...)
	transport := &http.Transport{Protocols: &http.Protocols{}}
	defer transport.CloseIdleConnections()
	transport.Protocols.SetUnencryptedHTTP2(true)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/parca.debuginfo.v1alpha1.DebuginfoService/"+method, bytes.NewReader(body))
	require.NoError(t, err)
	request.Header.Set("Content-Type", "application/grpc")
	response := must.Get((&http.Client{Transport: transport}).Do(request))(t)
	defer response.Body.Close()
	answer := must.Get(io.ReadAll(response.Body))(t)
	if response.Trailer.Get("Grpc-Status") != "0" {
		return nil, errors.New(response.Status + response.Header.Get("Grpc-Message"))
	}
	require.GreaterOrEqual(t, len(answer), 5)
	return answer[5:], nil
}

// post uploads a file over HTTP, and returns the status and the body of the response.
func post(t *testing.T, url, id string, file io.Reader) (int, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/debuginfo.v1alpha1.DebuginfoService/Upload/"+id, file)
	require.NoError(t, err)
	response := must.Get(http.DefaultClient.Do(request))(t)
	defer response.Body.Close()
	answer := must.Get(io.ReadAll(response.Body))(t)
	return response.StatusCode, string(answer)
}

// should is a message ShouldInitiateUploadRequest.
func should(id string) []byte {
	return protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), id)
}

// A program that nobody knows has names after an agent, which first asks over gRPC, has uploaded it, also in another processor with the directory.
func TestUploads(t *testing.T) {
	c := compileC(t, t.TempDir())
	file := must.Get(os.ReadFile(c.path))(t)
	tel := componenttest.NewTelemetry()
	cfg, url := configWithUploads(t, t.TempDir())
	s, sink := symbolizerOf(t, tel, cfg)
	require.NoError(t, s.ConsumeProfiles(t.Context(), messageOf(c)))
	require.Empty(t, namesIn(last(sink)))

	answer := must.Get(parcaCall(t, url, "ShouldInitiateUpload", should(c.buildID)))(t)
	require.True(t, bytes.HasPrefix(answer, []byte{0x08, 1}), "%q", answer)
	status, text := post(t, url, c.buildID, bytes.NewReader(file))
	require.Equal(t, http.StatusOK, status, text)
	require.NoError(t, s.ConsumeProfiles(t.Context(), messageOf(c)))
	require.NoError(t, profiletest.Check(last(sink)))
	names, lines := linesOf(last(sink).Dictionary(), 1)
	require.Contains(t, names, "outer")
	assert.NotZero(t, lines[0])
	assert.Equal(t, map[string]int64{"result=stored ": 1}, sums(t, tel, "uploads"))
	assert.EqualValues(t, 1, sums(t, tel, "fetches")["result=found source=uploads "])

	_, text = post(t, url, "ffffffff", bytes.NewReader(file))
	require.Contains(t, text, "another build id")
	assert.EqualValues(t, 1, sums(t, tel, "uploads")["result=build_id "])

	require.NoError(t, os.RemoveAll(filepath.Join(cfg.Cache.Directory, "v1")))
	other, _ := configWithUploads(t, cfg.Cache.Directory)
	s, sink = symbolizerOf(t, nil, other)
	require.NoError(t, s.ConsumeProfiles(t.Context(), messageOf(c)))
	assert.Contains(t, namesIn(last(sink)), "outer")
}

// An upload ends after read_timeout, not after a write_timeout that is shorter.
func TestUploadAfterWriteTimeout(t *testing.T) {
	cfg, url := configWithUploads(t, t.TempDir())
	cfg.Uploads.Get().HTTP.WriteTimeout = time.Millisecond
	symbolizerOf(t, nil, cfg)
	body, w := io.Pipe()
	go func() {
		_, _ = w.Write(make([]byte, 1<<16)) // More than buffers: the server has the header.
		time.Sleep(20 * time.Millisecond)
		_ = w.Close()
	}()
	status, _ := post(t, url, buildID, body)
	require.Equal(t, http.StatusBadRequest, status)
}

// A request waits for nothing when the processor stops, and leaves nothing behind.
func TestUploadAtShutdown(t *testing.T) {
	cfg, url := configWithUploads(t, "")
	s, _ := symbolizerOf(t, nil, cfg)
	body, w := io.Pipe()
	defer w.Close()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/debuginfo.v1alpha1.DebuginfoService/Upload/"+buildID, body)
	require.NoError(t, err)
	done := make(chan error, 1)
	go func() {
		response, err := http.DefaultClient.Do(request)
		if err == nil {
			_ = response.Body.Close()
		}
		done <- err
	}()
	_, err = w.Write([]byte("\x7fELF"))
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		files, err := filepath.Glob(filepath.Join(s.temporary, "uploads", "new-*"))
		return err == nil && len(files) == 1
	}, time.Minute, time.Millisecond)
	begin := time.Now()
	require.NoError(t, s.Shutdown(context.Background()))
	assert.Less(t, time.Since(begin), 10*time.Second)
	require.NoError(t, w.Close()) // The client waits for its body.
	require.Error(t, <-done)
	assert.NoDirExists(t, s.temporary)
}

// A server that cannot listen is an error, and leaves nothing behind.
func TestUploadsCannotListen(t *testing.T) {
	listener := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer listener.Close()
	cfg, _ := configWithUploads(t, "")
	cfg.Uploads.Get().HTTP.NetAddr.Endpoint = listener.Addr().String()
	s := must.Get(newSymbolizer(processortest.NewNopSettings(metadata.Type), cfg, consumertest.NewNop()))(t)
	require.ErrorContains(t, s.Start(t.Context(), componenttest.NewNopHost()), "cannot serve uploads")
	assert.NoDirExists(t, s.temporary)
}

// authenticator accepts one token.
type authenticator struct {
	component.StartFunc
	component.ShutdownFunc
}

var _ extensionauth.Server = authenticator{}

func (authenticator) Authenticate(ctx context.Context, sources map[string][]string) (context.Context, error) {
	if strings.Join(sources["Authorization"], "") != "Bearer token" {
		return ctx, errors.New("no token")
	}
	return ctx, nil
}

type hostWith map[component.ID]component.Component

func (h hostWith) GetExtensions() map[component.ID]component.Component { return h }

// Nothing is written for a client without a token.
func TestUploadsAuthenticate(t *testing.T) {
	cfg, url := configWithUploads(t, t.TempDir())
	id := component.MustNewID("test")
	cfg.Uploads.Get().HTTP.Auth = configoptional.Some(confighttp.AuthConfig{Config: configauth.Config{AuthenticatorID: id}})
	s := must.Get(newSymbolizer(processortest.NewNopSettings(metadata.Type), cfg, consumertest.NewNop()))(t)
	require.NoError(t, s.Start(t.Context(), hostWith{id: authenticator{}}))
	defer func() { assert.NoError(t, s.Shutdown(context.Background())) }()
	_, err := parcaCall(t, url, "ShouldInitiateUpload", should(buildID))
	require.ErrorContains(t, err, "401")
	status, _ := post(t, url, buildID, strings.NewReader("\x7fELF"))
	require.Equal(t, http.StatusUnauthorized, status)
	assert.NoDirExists(t, filepath.Join(cfg.Cache.Directory, "uploads"))
}
