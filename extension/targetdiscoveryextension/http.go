// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package targetdiscoveryextension

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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
	cfg    *promhttp.SDConfig
	client *http.Client
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
	d := &httpDiscovery{cfg: cfg, client: client, maxSize: maxSize}
	return refresh.NewDiscovery(refresh.Options{
		Logger: log, Mech: cfg.Name(), Interval: client.Timeout, RefreshF: d.ask, MetricsInstantiator: metrics,
	}), nil
}

// ask returns the groups of an answer, and empty ones for those that only the last answer had.
func (d *httpDiscovery) ask(ctx context.Context) ([]*targetgroup.Group, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, d.cfg.URL, http.NoBody)
	if err != nil {
		return nil, err
	}
	request.Header.Set("User-Agent", version.PrometheusUserAgent())
	request.Header.Set("Accept", "application/json")
	request.Header.Set("X-Prometheus-Refresh-Interval-Seconds", strconv.FormatFloat(d.client.Timeout.Seconds(), 'f', -1, 64))
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
		group.Source = fmt.Sprintf("%s:%d", d.cfg.URL, i)
		if i < answered {
			group.Labels[model.MetaLabelPrefix+"url"] = model.LabelValue(d.cfg.URL)
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

const (
	// memoryFactor is the allowed ratio of the memory of an answer to max_response_size.
	memoryFactor = 8
	// groupBytes, targetBytes and labelBytes are the memory of a group, a target and a label, without their texts: mostly that of
	// the maps that Prometheus has for them.
	groupBytes  = 1024
	targetBytes = 512
	labelBytes  = 128
)

// groupReader reads groups of targets and counts their memory.
type groupReader struct {
	*json.Decoder
	limit, used int64
}

// newGroupReader returns a reader of the groups of an answer, a list in JSON, which may take so many bytes of memory.
func newGroupReader(answer io.Reader, limit int64) *groupReader {
	return &groupReader{Decoder: json.NewDecoder(answer), limit: limit}
}

func (r *groupReader) groups() ([]*targetgroup.Group, error) {
	var groups []*targetgroup.Group
	err := r.each('[', func() error {
		group, err := r.group()
		groups = append(groups, group)
		return err
	})
	if err != nil {
		return nil, err
	}
	if _, err := r.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.Join(errors.New("something follows the list of groups"), err)
	}
	return groups, nil
}

// each reads a list or an object, and calls read for each of its elements. null is an empty one.
func (r *groupReader) each(opening json.Delim, read func() error) error {
	token, err := r.next()
	if err != nil || token == nil {
		return err
	}
	if token != opening {
		return fmt.Errorf("%v instead of %v at byte %d", token, opening, r.InputOffset())
	}
	for r.More() {
		if err := read(); err != nil {
			return err
		}
	}
	_, err = r.next()
	return err
}

// next returns the next token. The answer must not end before it.
func (r *groupReader) next() (json.Token, error) {
	token, err := r.Token()
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return token, err
}

func (r *groupReader) group() (*targetgroup.Group, error) {
	group := &targetgroup.Group{Labels: model.LabelSet{}}
	if err := r.count(groupBytes, ""); err != nil {
		return nil, err
	}
	return group, r.each('{', func() error {
		name, err := r.text(0)
		switch {
		case err != nil:
			return err
		case strings.EqualFold(name, "targets"):
			return r.each('[', func() error {
				address, err := r.text(targetBytes)
				group.Targets = append(group.Targets, model.LabelSet{model.AddressLabel: model.LabelValue(address)})
				return err
			})
		case strings.EqualFold(name, "labels"):
			return r.each('{', func() error {
				label, err := r.text(labelBytes)
				if err != nil {
					return err
				}
				if !model.UTF8Validation.IsValidLabelName(label) {
					return fmt.Errorf("%.100q is not a valid label name", label)
				}
				value, err := r.text(0)
				group.Labels[model.LabelName(label)] = model.LabelValue(value)
				return err
			})
		default:
			return fmt.Errorf("a group has targets and labels, not %.100q", name)
		}
	})
}

// text reads a text, whose memory is that of its bytes and of what holds it.
func (r *groupReader) text(holder int64) (string, error) {
	token, err := r.next()
	if err != nil {
		return "", err
	}
	text, isText := token.(string)
	if !isText {
		return "", fmt.Errorf("%v instead of a text at byte %d", token, r.InputOffset())
	}
	return text, r.count(holder, text)
}

// count counts memory before it is taken.
func (r *groupReader) count(bytes int64, text string) error {
	if r.used += bytes + int64(len(text)); r.used > r.limit {
		return fmt.Errorf("it needs more than %d bytes of memory, %d times max_response_size", r.limit, memoryFactor)
	}
	return nil
}
