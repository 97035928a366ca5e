// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package targetdiscoveryextension

import (
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/otelpprof/otelpprof/internal/discovery"
)

// The limits of a target. Those of one attribute are those of labels that clients send with their profiles.
const (
	maxAttributes     = 128
	maxAttributeName  = 1 << 10
	maxAttributeValue = 16 << 10
	// maxText is the limit of all texts of a target together. The rules can make new texts for each of many targets.
	maxText = 64 << 10
	// maxLabels is the limit of the labels before the rules, which take time with the square of their number.
	maxLabels = 4096
	// minInterval protects the targets: some profiles stop the whole program for a moment.
	minInterval = time.Second
	maxInterval = 365 * 24 * time.Hour
	minTimeout  = time.Millisecond
	// maxTimeout is how long a target that does not answer can hold a connection and memory.
	maxTimeout = time.Hour
)

func checkPort(port string) error {
	if port == "" {
		return nil
	}
	if number, err := strconv.ParseUint(port, 10, 16); err != nil || number == 0 {
		return fmt.Errorf("the port must be 1 to 65535, is %.100q", port)
	}
	return nil
}

func checkAddress(address string) error {
	if address == "" {
		return errors.New("it has no __address__")
	}
	parsed, err := url.Parse("http://" + address)
	if err != nil || parsed.Host != address {
		return fmt.Errorf("__address__ must be a host and port, is %.100q", address)
	}
	return nil
}

func checkScheme(scheme string) error {
	if scheme != "http" && scheme != "https" {
		return fmt.Errorf("the scheme must be http or https, is %.100q", scheme)
	}
	return nil
}

func checkAttributes(attributes map[string]string) error {
	if len(attributes) > maxAttributes {
		return fmt.Errorf("it has %d labels, the limit is %d", len(attributes), maxAttributes)
	}
	for name, value := range attributes {
		if len(name) > maxAttributeName || len(value) > maxAttributeValue {
			return fmt.Errorf("the label %.64q has %d bytes in its name and %d in its value, the limits are %d and %d",
				name, len(name), len(value), maxAttributeName, maxAttributeValue)
		}
	}
	return nil
}

// checkText checks the parameters and profiles of a target, and the bytes of all its texts together.
func checkText(target *discovery.Target) error {
	if len(target.Params) > maxAttributes || len(target.Profiles) > maxAttributes {
		return fmt.Errorf("it has %d parameters and settings of %d profiles, the limit of each is %d",
			len(target.Params), len(target.Profiles), maxAttributes)
	}
	size := len(target.Address) + len(target.Origin) + len(target.PathPrefix)
	for _, texts := range []map[string]string{target.Params, target.Attributes} {
		for name, value := range texts {
			size += len(name) + len(value)
		}
	}
	for name, profile := range target.Profiles {
		size += len(name) + len(profile.Path)
	}
	if size > maxText {
		return fmt.Errorf("its address, labels and paths have %d bytes together, the limit is %d", size, maxText)
	}
	return nil
}

func readDuration(builder *labels.Builder, name string, lowest, highest time.Duration, into *time.Duration) error {
	text := builder.Get(name)
	if text == "" {
		return nil
	}
	duration, err := model.ParseDuration(text)
	if err != nil || time.Duration(duration) < lowest || time.Duration(duration) > highest {
		return fmt.Errorf("%s must be a duration from %s to %s, is %.100q", name, model.Duration(lowest), model.Duration(highest), text)
	}
	*into = time.Duration(duration)
	return nil
}
