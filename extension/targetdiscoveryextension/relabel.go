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
	"slices"
	"strings"

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
