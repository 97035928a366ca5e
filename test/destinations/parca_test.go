// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package destinations

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"

	"github.com/google/pprof/profile"
)

var prometheusName = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_]*$`)

// readWriteRaw reads a WriteRawRequest in JSON by Parca's rules.
func readWriteRaw(r *http.Request, body []byte) (took []series, err error) {
	var request struct {
		Series []struct {
			Labels struct {
				Labels []struct{ Name, Value string }
			}
			Samples []struct{ RawProfile []byte }
		}
	}
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&request); err != nil {
		return nil, err
	}
	for _, given := range request.Series {
		one := series{request: line(r), labels: map[string]string{}}
		for _, l := range given.Labels.Labels {
			if one.labels[l.Name] != "" || !prometheusName.MatchString(l.Name) {
				return nil, fmt.Errorf("label %q", l.Name)
			}
			one.labels[l.Name] = l.Value
		}
		if one.name = one.labels["__name__"]; one.name == "" || len(given.Samples) != 1 {
			return nil, fmt.Errorf("name %q, %d samples", one.name, len(given.Samples))
		}
		p, err := one.read(given.Samples[0].RawProfile)
		if err != nil {
			return nil, err
		}
		if err := sequential(p); err != nil {
			return nil, err
		}
		took = append(took, one)
	}
	return took, nil
}

// sequential tells which ids do not count from 1, which Parca wants.
func sequential(p *profile.Profile) error {
	for i, m := range p.Mapping {
		if m.ID != uint64(i+1) {
			return fmt.Errorf("mapping %d has id %d", i, m.ID)
		}
	}
	for i, l := range p.Location {
		if l.ID != uint64(i+1) {
			return fmt.Errorf("location %d has id %d", i, l.ID)
		}
	}
	for i, f := range p.Function {
		if f.ID != uint64(i+1) {
			return fmt.Errorf("function %d has id %d", i, f.ID)
		}
	}
	return nil
}
