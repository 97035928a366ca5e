// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package targetdiscoveryextension

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/common/config"
	"github.com/prometheus/common/model"
	"github.com/prometheus/common/version"
	promdiscovery "github.com/prometheus/prometheus/discovery"
	promhttp "github.com/prometheus/prometheus/discovery/http"
	"github.com/prometheus/prometheus/discovery/refresh"
	"github.com/prometheus/prometheus/discovery/targetgroup"
)

// httpDiscovery asks a server for targets as Prometheus does. Prometheus has no limit for an answer, and its memory can be 200 times
// the size of the answer.
type httpDiscovery struct {
	url     string
	refresh time.Duration
	client  *http.Client
	// maxSize limits the bytes of an answer.
	maxSize int64
	// groups is the number of groups of the last answer.
	groups int
}

func newHTTPDiscovery(cfg *promhttp.SDConfig, maxSize int64, log *slog.Logger, metrics promdiscovery.RefreshMetricsInstantiator) (promdiscovery.Discoverer, error) {
	client, err := config.NewClientFromConfig(cfg.HTTPClientConfig, "http", config.WithKeepAlivesDisabled(), config.WithHTTP2Disabled())
	if err != nil {
		return nil, err
	}
	client.Timeout = time.Duration(cfg.RefreshInterval)
	d := &httpDiscovery{url: cfg.URL, refresh: client.Timeout, client: client, maxSize: maxSize}
	return refresh.NewDiscovery(refresh.Options{
		Logger: log, Mech: cfg.Name(), Interval: d.refresh, RefreshF: d.ask, MetricsInstantiator: metrics,
	}), nil
}

// ask returns the groups of an answer, and empty ones for those that only the last answer had.
func (d *httpDiscovery) ask(ctx context.Context) ([]*targetgroup.Group, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, d.url, http.NoBody)
	if err != nil {
		return nil, err
	}
	request.Header.Set("User-Agent", version.PrometheusUserAgent())
	request.Header.Set("Accept", "application/json")
	request.Header.Set("X-Prometheus-Refresh-Interval-Seconds", strconv.FormatFloat(d.refresh.Seconds(), 'f', -1, 64))
	response, err := d.client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("server returned HTTP status %.100s", response.Status)
	}
	if contentType := response.Header.Get("Content-Type"); !isJSON(contentType) {
		return nil, fmt.Errorf("unsupported content type %.100q", contentType)
	}
	groups, err := newGroupReader(http.MaxBytesReader(nil, response.Body, d.maxSize), memoryFactor*d.maxSize).groups()
	if tooLarge, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return nil, fmt.Errorf("cannot read the answer: it is larger than max_response_size, %d bytes", tooLarge.Limit)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read the answer: %w", err)
	}
	answered := len(groups)
	for len(groups) < d.groups {
		groups = append(groups, &targetgroup.Group{})
	}
	for i, group := range groups {
		group.Source = fmt.Sprintf("%s:%d", d.url, i)
		if i < answered {
			group.Labels[model.MetaLabelPrefix+"url"] = model.LabelValue(d.url)
		}
	}
	d.groups = answered
	return groups, nil
}

func isJSON(contentType string) bool {
	mediaType, parameters, err := mime.ParseMediaType(contentType)
	charset, given := parameters["charset"]
	return err == nil && mediaType == "application/json" && (!given || strings.EqualFold(charset, "utf-8"))
}
