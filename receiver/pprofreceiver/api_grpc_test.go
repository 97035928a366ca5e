// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/client"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/config/configoptional"
	"go.opentelemetry.io/collector/config/configtls"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	_ "google.golang.org/grpc/encoding/gzip" // the compressor
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/otelpprof/otelpprof/internal/testkit/certtest"
)

// bytesCodec sends messages that are already marshalled.
type bytesCodec struct{}

func (bytesCodec) Marshal(v any) ([]byte, error) { return v.([]byte), nil }

func (bytesCodec) Unmarshal(data []byte, v any) error {
	*v.(*[]byte) = bytes.Clone(data)
	return nil
}

func (bytesCodec) Name() string { return "proto" }

// dial returns a gRPC client.
func (r *running) dial(t *testing.T, how credentials.TransportCredentials) *grpc.ClientConn {
	t.Helper()
	conn, err := grpc.NewClient(r.address, grpc.WithTransportCredentials(how), grpc.WithDefaultCallOptions(grpc.ForceCodec(bytesCodec{})))
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close() })
	return conn
}

// TestGRPC calls both procedures with a gRPC client, on the same port as HTTP/1.
func TestGRPC(t *testing.T) {
	profile := gz(t, plain(t, cpuProfile(3)))
	for path, parca := range map[string]bool{pushPath: false, parcaPath: true} {
		for name, options := range map[string][]grpc.CallOption{"plain": nil, "gzip": {grpc.UseCompressor("gzip")}} {
			t.Run(path+" "+name, func(t *testing.T) {
				r := run(t, nil)
				ctx := metadata.AppendToOutgoingContext(t.Context(), "x-scope-orgid", "team-a")
				answer := []byte("?")
				message := pushRequest(parca, map[string]string{"service_name": "checkout", "__name__": "process_cpu", "pod": "a"}, profile)
				require.NoError(t, r.dial(t, insecure.NewCredentials()).Invoke(ctx, path, message, &answer, options...))
				assert.Empty(t, answer)
				assert.Equal(t, map[string]any{"service.name": "checkout", "pod": "a"}, r.sink.resource(t))
				assert.Equal(t, map[string]int64{"samples/count": 6, "cpu/nanoseconds": 60_000_000}, sums(r.sink.one(t)))
				info := client.FromContext(r.sink.ctx[0])
				assert.Equal(t, []string{"team-a"}, info.Metadata.Get("X-Scope-OrgID"))
				assert.Equal(t, http.StatusNoContent, r.post(t, "/v1/pprof", profile).status)
			})
		}
	}
}

func TestGRPCErrors(t *testing.T) {
	good := plain(t, cpuProfile(2))
	for name, c := range map[string]struct {
		path    string
		message []byte
		consume error
		code    codes.Code
		says    string
	}{
		"bad profile":  {path: pushPath, message: pushRequest(false, nil, good, []byte("x")), code: codes.InvalidArgument, says: "1 of 2 profiles refused, the others are accepted: series[1].samples[0]: "},
		"bad message":  {path: parcaPath, message: []byte{0xff}, code: codes.InvalidArgument, says: "malformed message"},
		"too large":    {path: parcaPath, message: pushRequest(true, map[string]string{"a": strings.Repeat("x", 20_000)}, good), code: codes.ResourceExhausted, says: "the limit is 16384"},
		"unavailable":  {path: parcaPath, message: pushRequest(true, nil, good), consume: errors.New("100% full; später"), code: codes.Unavailable, says: "100% full; später"},
		"unknown path": {path: "/parca.profilestore.v1alpha1.ProfileStoreService/WriteArrow", message: good, code: codes.Unimplemented, says: "there are: /api/profiles/writeraw"},
	} {
		t.Run(name, func(t *testing.T) {
			r := run(t, nil)
			r.sink.consume = func(context.Context) error { return c.consume }
			err := r.dial(t, insecure.NewCredentials()).Invoke(t.Context(), c.path, c.message, new([]byte))
			assert.Equal(t, c.code, status.Code(err), err)
			assert.Contains(t, status.Convert(err).Message(), c.says)
		})
	}
}

// TestGRPCFrames sends invalid frames.
func TestGRPCFrames(t *testing.T) {
	r := run(t, nil)
	message := pushRequest(false, nil, plain(t, cpuProfile(1)))
	protocols := &http.Protocols{}
	protocols.SetUnencryptedHTTP2(true)
	transport := &http.Transport{Protocols: protocols}
	defer transport.CloseIdleConnections()
	for name, c := range map[string]struct {
		body     []byte
		encoding string
		status   string
	}{
		"good":             {body: grpcFrame(0, message), status: "0"},
		"zstd":             {body: grpcFrame(1, zs(t, message)), encoding: "zstd", status: "0"},
		"no prefix":        {body: []byte{0, 0}, status: "3"},
		"short":            {body: grpcFrame(0, message)[:20], status: "3"},
		"two messages":     {body: append(grpcFrame(0, message), grpcFrame(0, message)...), status: "3"},
		"unknown flag":     {body: grpcFrame(2, message), status: "3"},
		"unknown encoding": {body: grpcFrame(1, message), encoding: "snappy", status: "12"},
		"no encoding":      {body: grpcFrame(1, message), status: "12"},
		"not compressed":   {body: grpcFrame(1, message), encoding: "gzip", status: "3"},
		"bomb":             {body: grpcFrame(1, gzipBomb(t)), encoding: "gzip", status: "8"},
	} {
		t.Run(name, func(t *testing.T) {
			request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, r.url+pushPath, bytes.NewReader(c.body))
			require.NoError(t, err)
			request.Header.Set("Content-Type", "application/grpc+proto")
			request.Header.Set("Grpc-Encoding", c.encoding)
			response, err := (&http.Client{Transport: transport}).Do(request)
			require.NoError(t, err)
			defer response.Body.Close()
			var body bytes.Buffer
			_, err = body.ReadFrom(response.Body)
			require.NoError(t, err)
			assert.Equal(t, 2, response.ProtoMajor)
			assert.Equal(t, http.StatusOK, response.StatusCode)
			got := response.Header.Get("Grpc-Status")
			if c.status == "0" {
				got = response.Trailer.Get("Grpc-Status")
				assert.Equal(t, make([]byte, 5), body.Bytes())
			}
			assert.Equal(t, c.status, got)
		})
	}
}

// TestGRPCOverTLS uses the same port with TLS.
func TestGRPCOverTLS(t *testing.T) {
	directory := t.TempDir()
	certtest.SelfSigned(t, directory)
	r := runOn(t, componenttest.NewNopHost(), func(_ *Config, s *ServerConfig) {
		s.HTTP.TLS = configoptional.Some(configtls.ServerConfig{Config: configtls.Config{
			CertFile: filepath.Join(directory, "tls.crt"), KeyFile: filepath.Join(directory, "tls.key"),
		}})
	})
	conn := r.dial(t, credentials.NewTLS(&tls.Config{InsecureSkipVerify: true}))
	require.NoError(t, conn.Invoke(t.Context(), pushPath, pushRequest(false, nil, plain(t, cpuProfile(1))), new([]byte)))
	require.Len(t, r.sink.all(), 1)
}
