// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package walk iterates over the parts of messages, in their order.
package walk // import "github.com/otelpprof/otelpprof/internal/dictionary/walk"

import (
	"iter"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"
)

// Profiles iterates over all profiles of a message.
func Profiles(message pprofile.Profiles) iter.Seq[pprofile.Profile] {
	return func(yield func(pprofile.Profile) bool) {
		for _, scope := range Scopes(message) {
			for _, profile := range scope.Profiles().All() {
				if !yield(profile) {
					return
				}
			}
		}
	}
}

// Scopes iterates over all scopes of a message, each with its resource.
func Scopes(message pprofile.Profiles) iter.Seq2[pprofile.ResourceProfiles, pprofile.ScopeProfiles] {
	return func(yield func(pprofile.ResourceProfiles, pprofile.ScopeProfiles) bool) {
		for _, resource := range message.ResourceProfiles().All() {
			for _, scope := range resource.ScopeProfiles().All() {
				if !yield(resource, scope) {
					return
				}
			}
		}
	}
}

// Attributes iterates over the attributes of each resource and of each scope.
func Attributes(message pprofile.Profiles) iter.Seq[pcommon.Map] {
	return func(yield func(pcommon.Map) bool) {
		for _, resource := range message.ResourceProfiles().All() {
			if !yield(resource.Resource().Attributes()) {
				return
			}
			for _, scope := range resource.ScopeProfiles().All() {
				if !yield(scope.Scope().Attributes()) {
					return
				}
			}
		}
	}
}

// RemoveProfiles removes the profiles for which remove returns true. Scopes and resources stay.
func RemoveProfiles(message pprofile.Profiles, remove func(pprofile.Profile) bool) {
	for _, scope := range Scopes(message) {
		scope.Profiles().RemoveIf(remove)
	}
}
