// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Peer is a sender and a receiver of OTLP profiles, built with one version of pdata: each go.*.mod beside it names another.
//
//	peer send grpc|http proto|json ADDRESS <message.json
//	peer receive GRPC_ADDRESS HTTP_ADDRESS
//
// send reads one message as OTLP JSON. receive prints each message that it gets as one line of OTLP JSON, until its
// standard input ends.
package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"go.opentelemetry.io/collector/pdata/pprofile"
	"go.opentelemetry.io/collector/pdata/pprofile/pprofileotlp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

const (
	timeout     = 30 * time.Second
	profilePath = "/v1development/profiles"
	typeProto   = "application/x-protobuf"
	typeJSON    = "application/json"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(arguments []string) error {
	switch {
	case len(arguments) == 4 && arguments[0] == "send":
		return send(arguments[1], arguments[2], arguments[3])
	case len(arguments) == 3 && arguments[0] == "receive":
		return receive(arguments[1], arguments[2])
	default:
		return errors.New("usage: peer send grpc|http proto|json ADDRESS, or peer receive GRPC_ADDRESS HTTP_ADDRESS")
	}
}

func send(transport, encoding, address string) error {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	text, err := io.ReadAll(os.Stdin)
	if err != nil {
		return err
	}
	profiles, err := (&pprofile.JSONUnmarshaler{}).UnmarshalProfiles(text)
	if err != nil {
		return err
	}
	request := pprofileotlp.NewExportRequestFromProfiles(profiles)
	if transport == "grpc" {
		return sendGRPC(ctx, address, request)
	}
	contentType, marshal := typeProto, request.MarshalProto
	if encoding == "json" {
		contentType, marshal = typeJSON, request.MarshalJSON
	}
	wire, err := marshal()
	if err != nil {
		return err
	}
	return sendHTTP(ctx, address, contentType, wire)
}

func sendGRPC(ctx context.Context, address string, request pprofileotlp.ExportRequest) error {
	connection, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer connection.Close()
	_, err = pprofileotlp.NewGRPCClient(connection).Export(ctx, request)
	return err
}

func sendHTTP(ctx context.Context, address, contentType string, wire []byte) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+address+profilePath, bytes.NewReader(wire)) //nolint:gosec // an argument of the test
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", contentType)
	response, err := http.DefaultClient.Do(request) //nolint:gosec // an argument of the test
	if err != nil {
		return err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", response.Status, text)
	}
	return err
}

// receiver prints what it gets.
type receiver struct {
	pprofileotlp.UnimplementedGRPCServer
	mu  sync.Mutex
	out *bufio.Writer
}

func receive(grpcAddress, httpAddress string) error {
	r := &receiver{out: bufio.NewWriter(os.Stdout)}
	grpcListener, err := net.Listen("tcp", grpcAddress)
	if err != nil {
		return err
	}
	httpListener, err := net.Listen("tcp", httpAddress)
	if err != nil {
		return err
	}
	server := grpc.NewServer()
	pprofileotlp.RegisterGRPCServer(server, r)
	go func() { _ = server.Serve(grpcListener) }()
	mux := http.NewServeMux()
	mux.HandleFunc("POST "+profilePath, r.serveHTTP)
	go func() { _ = (&http.Server{Handler: mux, ReadHeaderTimeout: timeout}).Serve(httpListener) }()
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// Export implements pprofileotlp.GRPCServer.
func (r *receiver) Export(_ context.Context, request pprofileotlp.ExportRequest) (pprofileotlp.ExportResponse, error) {
	return pprofileotlp.NewExportResponse(), r.print("grpc", request)
}

func (r *receiver) serveHTTP(w http.ResponseWriter, req *http.Request) {
	request := pprofileotlp.NewExportRequest()
	wire, err := io.ReadAll(req.Body)
	if err == nil {
		err = request.UnmarshalProto(wire)
	}
	if err == nil {
		err = r.print("http", request)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", typeProto)
}

// print writes the transport and the message.
func (r *receiver) print(transport string, request pprofileotlp.ExportRequest) error {
	text, err := request.MarshalJSON()
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, err := fmt.Fprintf(r.out, "%s %s\n", transport, text); err != nil {
		return err
	}
	return r.out.Flush()
}
