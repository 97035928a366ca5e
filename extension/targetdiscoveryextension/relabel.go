// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package targetdiscoveryextension

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/discovery/targetgroup"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/relabel"

	"github.com/otelpprof/otelpprof/internal/discovery"
)

// errDropped says that the rules have dropped a target.
var errDropped = errors.New("dropped")

// apply makes targets of a group: as many as there is room for, and those that are known. The others are only counted. It
// returns early when ctx ends.
func (d *targetDiscovery) apply(ctx context.Context, of *targetgroup.Group, room int, known map[string]*discovery.Target) group {
	made := group{targets: map[string]*discovery.Target{}}
	builder := labels.NewBuilder(labels.EmptyLabels())
	for i, one := range of.Targets {
		if ctx.Err() != nil {
			break
		}
		target, err := d.target(builder, one, of.Labels)
		if err != nil {
			made.leaveOut(one, err)
			continue
		}
		key := key(target)
		if made.targets[key] == nil && known[key] == nil && len(made.targets) >= room {
			made.overLimit++
			continue
		}
		target.Position = i
		addFirst(made.targets, key, target)
	}
	return made
}

// addFirst adds a target, unless an equal one is there that is not behind it. Equal targets may have different positions.
func addFirst(all map[string]*discovery.Target, key string, target *discovery.Target) {
	if other := all[key]; other == nil || target.Position < other.Position {
		all[key] = target
	}
}

// leaveOut counts a target that is left out.
func (g *group) leaveOut(target model.LabelSet, err error) {
	if errors.Is(err, errDropped) {
		g.dropped++
		return
	}
	g.invalid++
	if g.firstInvalid == nil {
		g.firstInvalid = fmt.Errorf("target %.100q: %w", target[model.AddressLabel], err)
	}
}

// target applies the rules to one target. Its own labels override those of its group.
func (d *targetDiscovery) target(builder *labels.Builder, own, common model.LabelSet) (*discovery.Target, error) {
	if count := len(own) + len(common); count > maxLabels {
		return nil, fmt.Errorf("it has %d labels before the rules, the limit is %d", count, maxLabels)
	}
	builder.Reset(labels.EmptyLabels())
	builder.Set(model.SchemeLabel, "http")
	for name, value := range common {
		builder.Set(string(name), string(value))
	}
	for name, value := range own {
		builder.Set(string(name), string(value))
	}
	if !relabel.ProcessBuilder(builder, d.rules...) || !hasPortName(builder, builder.Get("__profile_port_name__")) {
		return nil, errDropped
	}
	port := builder.Get("__profile_port__")
	target := &discovery.Target{
		Scheme: builder.Get(model.SchemeLabel), Address: discovery.WithPort(bracketed(builder.Get(model.AddressLabel)), port),
		Origin:     bracketed(string(own[model.AddressLabel])),
		PathPrefix: builder.Get("__profile_path_prefix__"),
		Attributes: attributes(builder),
	}
	err := errors.Join(
		checkAddress(target.Address), checkPort(port), checkScheme(target.Scheme), checkAttributes(target.Attributes),
		readDuration(builder, model.ScrapeIntervalLabel, minInterval, maxInterval, &target.Interval),
		readDuration(builder, model.ScrapeTimeoutLabel, minTimeout, maxTimeout, &target.Timeout),
		readProfiles(builder, target),
	)
	if err == nil {
		err = checkText(target)
	}
	if err != nil {
		return nil, err
	}
	if target.Listed && !slices.ContainsFunc(slices.Collect(maps.Values(target.Profiles)), func(p discovery.Profile) bool { return !p.Skip }) {
		return nil, errDropped
	}
	return target, nil
}

// bracketed returns an address of IPv6 without a port as URLs have it.
func bracketed(address string) string {
	if ip, err := netip.ParseAddr(address); err == nil && ip.Is6() {
		return "[" + address + "]"
	}
	return address
}

// portNames are the labels with the name of the port of a target.
var portNames = []string{
	"__meta_kubernetes_pod_container_port_name", "__meta_kubernetes_endpointslice_port_name",
	"__meta_kubernetes_endpoint_port_name", "__meta_kubernetes_service_port_name",
}

// hasPortName reports whether the port of a target has this name, which may be empty.
func hasPortName(builder *labels.Builder, name string) bool {
	return name == "" || slices.ContainsFunc(portNames, func(label string) bool { return builder.Get(label) == name })
}

// readProfiles reads the labels __param_<name>, and __profile_<name>_<setting>__ with the settings of one profile.
func readProfiles(builder *labels.Builder, target *discovery.Target) error {
	profiles := map[string]discovery.Profile{}
	wanted := map[string]bool{}
	var invalid error // the first alone: there can be thousands
	builder.Range(func(l labels.Label) {
		if param, isParam := strings.CutPrefix(l.Name, model.ParamLabelPrefix); isParam {
			if target.Params == nil {
				target.Params = map[string]string{}
			}
			target.Params[param] = l.Value
			return
		}
		name, setting := profileSetting(l.Name)
		if name == "" {
			return
		}
		profile := profiles[name]
		switch setting {
		case "scrape":
			wanted[name] = l.Value == "true"
			target.Listed = target.Listed || wanted[name]
		case "path":
			profile.Path = l.Value
		case "scheme":
			invalid = cmp.Or(invalid, checkScheme(l.Value))
			profile.Scheme = l.Value
		case "port":
			invalid = cmp.Or(invalid, checkPort(l.Value))
			profile.Port = l.Value
		case "port_name":
			profile.Skip = !hasPortName(builder, l.Value)
		}
		profiles[name] = profile
	})
	for name, profile := range profiles {
		if want, told := wanted[name]; told && !want || target.Listed && !want {
			profile.Skip = true
			profiles[name] = profile
		}
	}
	if len(profiles) > 0 {
		target.Profiles = profiles
	}
	return invalid
}

// profileSetting splits __profile_<name>_<setting>__. Other labels have no name.
func profileSetting(label string) (name, setting string) {
	label, isProfile := strings.CutPrefix(label, "__profile_")
	label, isEnded := strings.CutSuffix(label, "__")
	if !isProfile || !isEnded {
		return "", ""
	}
	for _, setting := range []string{"scrape", "port_name", "port", "path", "scheme"} {
		if name, found := strings.CutSuffix(label, "_"+setting); found {
			return name, setting
		}
	}
	return "", ""
}

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
