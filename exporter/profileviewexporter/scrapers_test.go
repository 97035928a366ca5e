// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profileviewexporter

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A scraper adds up its answers. It must receive each profile once, independent of other scrapers and of how often it asks.
func TestServerScrapers(t *testing.T) {
	s := newServing(t, nil)
	post := func(minute int, value int64) {
		s.post(t, made(t, day.Add(time.Duration(minute)*time.Minute), []string{"samples"}, value), map[string]any{"service.name": "s"})
	}
	sum := func(path string) int64 {
		response, body := s.get(t, path)
		if response.StatusCode == http.StatusNotFound {
			assert.Contains(t, string(body), "since the last fetch")
			return 0
		}
		require.Equal(t, http.StatusOK, response.StatusCode, string(body))
		return totals(t, body)[0]
	}
	const one, two = "/profiles/s/samples?scraper=one", "/profiles/s/samples?scraper=two&seconds=3600"
	post(0, 1)
	post(1, 10)
	assert.EqualValues(t, 11, sum(one), "the first time all")
	assert.Zero(t, sum(one))
	post(2, 100)
	response, err := http.Head(s.url + one)
	require.NoError(t, err)
	response.Body.Close()
	assert.EqualValues(t, 100, sum(one), "who asked for the header got no profile")
	assert.Zero(t, sum(one))
	assert.EqualValues(t, 111, sum(two), "another scraper")
	post(0, 1000)
	assert.EqualValues(t, 1000, sum(two), "it is late, and counts by its arrival")
	assert.EqualValues(t, 1000, sum(one))
	assert.EqualValues(t, 1111, sum("/profiles/s/samples"), "without a name all")
	response, _ = s.get(t, "/profiles/none/samples?scraper=one")
	assert.Equal(t, http.StatusNotFound, response.StatusCode)
}

func TestScrapersAreBounded(t *testing.T) {
	var s scrapers
	for i := range maxScrapers {
		key := scraperKey{byte(i), byte(i >> 8)}
		_, err := s.last(key, day)
		require.NoError(t, err)
		s.remember(key, nil, day)
	}
	_, err := s.last(scraperKey{1}, day)
	require.NoError(t, err, "one that is known")
	_, err = s.last(scraperKey{0xff, 0xff}, day)
	require.ErrorContains(t, err, "1000 scrapers")
	_, err = s.last(scraperKey{0xff, 0xff}, day.Add(scraperMemory))
	require.NoError(t, err, "the others were long ago")
	assert.Empty(t, s.given)
}
