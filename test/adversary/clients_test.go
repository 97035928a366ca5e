// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package adversary

import (
	"context"
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

const (
	honestTenant = "honest"
	tenantHeader = "X-Scope-OrgID"
)

// startHonest starts the honest clients of a process: one that uploads, and one that looks at a page where there are any.
func (p *process) startHonest(t *testing.T) []*honest {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	transport, scheme := &http.Transport{DisableKeepAlives: true}, "http://"
	if p.tls {
		transport.TLSClientConfig, scheme = clientOf(p.certificate), "https://"
	}
	client := &http.Client{Transport: transport}
	var all []*honest
	switch {
	case p.listening(pprofServer) != "":
		url := scheme + p.listening(pprofServer) + "/v1/pprof?service.name=honest&resource.upload=%d"
		headers := []string{tenantHeader, honestTenant, "Authorization", honestPassword}
		all = append(all, startHonest(ctx, "upload", uploading(client, url, headers, captured(t, "pprof", "cpu.pb.gz"))))
	case p.listening(otlpHTTP) != "" && !p.takesLogs():
		url := "http://" + p.listening(otlpHTTP) + profilesPath + "?upload=%d"
		all = append(all, startHonest(ctx, "OTLP profile", uploading(client, url, []string{"Content-Type", "application/x-protobuf"}, otlpOf(t))))
	case p.listening(otlpHTTP) != "":
		url := "http://" + p.listening(otlpHTTP) + "/v1/logs?upload=%d"
		headers := []string{tenantHeader, honestTenant, "Content-Type", "application/x-protobuf"}
		logs := captured(t, "splunk", "splunk-otel-js", "v4.7.2-mixed-cpu-1-http.pb")
		all = append(all, startHonest(ctx, "log record", uploading(client, url, headers, logs)))
	case p.targets != nil:
		all = append(all, startHonest(ctx, "scraped target", p.targets.honestFiles(p.directory)))
	}
	if address := p.listening(pages); address != "" {
		all = append(all, startHonest(ctx, "page", looking(client, "http://"+address+"/")))
	}
	require.NotEmpty(t, all)
	return all
}

// otlpOf is a profile as a sender of OTLP sends it.
func otlpOf(t *testing.T) []byte {
	t.Helper()
	profiles, _, err := pprof.NewDecoder(pprof.DecodeOptions{}).Decode(captured(t, "pprof", "cpu.pb.gz"), pprof.Source{})
	require.NoError(t, err)
	message, err := (&pprofile.ProtoMarshaler{}).MarshalProfiles(profiles)
	require.NoError(t, err)
	return message
}

func captured(t *testing.T, elements ...string) []byte {
	t.Helper()
	content, err := os.ReadFile(profiletest.Testdata(t, elements...))
	require.NoError(t, err)
	return content
}

// waitHonest waits until each honest client has been served by a round that began now.
func (p *process) waitHonest() {
	for _, h := range p.honest {
		h.wait(p.running.Running)
	}
}

// takeFaults returns what honest clients met since the last time, and how long the slowest waited.
func (p *process) takeFaults() (faults []string, slowest time.Duration) {
	for _, h := range p.honest {
		more, slow := h.take()
		faults, slowest = append(faults, more...), max(slowest, slow)
	}
	return faults, slowest
}
