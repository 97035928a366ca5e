// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package otlpsink

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pprofile"
	"go.opentelemetry.io/collector/pdata/pprofile/pprofileotlp"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestSink(t *testing.T) {
	var got []pprofile.Profiles
	sink, err := Start(t.Context(), "127.0.0.1:0", func(_ context.Context, pd pprofile.Profiles) error {
		got = append(got, pd)
		return nil
	})
	require.NoError(t, err)
	defer sink.Stop()
	connection, err := grpc.NewClient(sink.Address(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	defer func() { require.NoError(t, connection.Close()) }()
	client := pprofileotlp.NewGRPCClient(connection)
	pd := pprofile.NewProfiles()
	pd.ResourceProfiles().AppendEmpty().Resource().Attributes().PutStr("service.name", "checkout")

	_, err = client.Export(t.Context(), pprofileotlp.NewExportRequestFromProfiles(pd))
	require.NoError(t, err)
	require.Len(t, got, 1)
	service, _ := got[0].ResourceProfiles().At(0).Resource().Attributes().Get("service.name")
	assert.Equal(t, "checkout", service.Str())

	sink.Take(func(context.Context, pprofile.Profiles) error { return status.Error(codes.Unavailable, "away") })
	_, err = client.Export(t.Context(), pprofileotlp.NewExportRequestFromProfiles(pd))
	assert.Equal(t, codes.Unavailable, status.Code(err))
	assert.Len(t, got, 1)
}
