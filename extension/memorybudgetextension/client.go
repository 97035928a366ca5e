// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package memorybudgetextension

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"go.opentelemetry.io/collector/extension/extensionmiddleware"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/otelpprof/otelpprof/internal/printable"
)

const (
	// maxRetryWait is the longest wait that a backend can ask an exporter for. The exporters of the Collector wait as long as they are
	// asked to, without a limit, and each wait stops one consumer of their queue.
	maxRetryWait = time.Minute
	// maxAnswerText is the maximum number of characters of the text of an error. It gets into the log with each attempt.
	maxAnswerText = 1000
	// maxAnswerBytes limits the message of an answer over gRPC, and the headers of one over HTTP.
	maxAnswerBytes = 64 << 10
)

// GetGRPCClientOptions returns the options of exporters over gRPC. They limit what the answer of a backend can do.
func (*memoryBudget) GetGRPCClientOptions(context.Context) ([]grpc.DialOption, error) {
	return []grpc.DialOption{
		grpc.WithChainUnaryInterceptor(limitStatus),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxAnswerBytes)),
	}, nil
}

// limitStatus limits the text of an error, and the wait that its RetryInfo asks for. It drops all other details.
func limitStatus(
	ctx context.Context, method string, request, reply any, connection *grpc.ClientConn, call grpc.UnaryInvoker, options ...grpc.CallOption,
) error {
	err := call(ctx, method, request, reply, connection, options...)
	answer, ok := status.FromError(err)
	if err == nil || !ok {
		return err
	}
	limited := status.New(answer.Code(), printable.Line(answer.Message(), maxAnswerText))
	for _, detail := range answer.Details() {
		info, ok := detail.(*errdetails.RetryInfo)
		if !ok {
			continue
		}
		wait := durationpb.New(min(info.GetRetryDelay().AsDuration(), maxRetryWait))
		if limited, err = limited.WithDetails(&errdetails.RetryInfo{RetryDelay: wait}); err != nil {
			return err
		}
	}
	return limited.Err()
}

// GetHTTPRoundTripper returns the middleware of exporters over HTTP, which limits what the answer of a backend can do.
func (*memoryBudget) GetHTTPRoundTripper(context.Context) (extensionmiddleware.WrapHTTPRoundTripperFunc, error) {
	return func(_ context.Context, next http.RoundTripper) (http.RoundTripper, error) {
		if transport, ok := next.(*http.Transport); ok {
			transport.MaxResponseHeaderBytes = maxAnswerBytes
		}
		return limitedTransport{next}, nil
	}, nil
}

// limitedTransport limits the wait that a Retry-After asks for.
type limitedTransport struct{ http.RoundTripper }

func (t limitedTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := t.RoundTripper.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	const header = "Retry-After"
	if text := response.Header.Get(header); text != "" && !isShort(text) {
		response.Header.Set(header, strconv.Itoa(int(maxRetryWait/time.Second)))
	}
	return response, nil
}

// isShort returns whether the value of a Retry-After is a number of seconds or a date up to maxRetryWait from now. The Collector's
// exporter reads dates in any time zone.
func isShort(text string) bool {
	if seconds, err := strconv.ParseInt(text, 10, 64); err == nil {
		return seconds <= int64(maxRetryWait/time.Second)
	}
	at, err := time.Parse(time.RFC1123, text)
	return err == nil && time.Until(at) <= maxRetryWait
}
