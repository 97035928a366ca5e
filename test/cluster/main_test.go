// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package cluster

import (
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"
)

// plane is the control plane of all tests. Tests that run at the same time use different namespaces.
var plane *controlPlane

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	binaries := os.Getenv("OTELPPROF_KUBERNETES")
	_, etcd := exec.LookPath("etcd")
	_, kubectl := exec.LookPath("kubectl")
	if binaries == "" || etcd != nil || kubectl != nil {
		fmt.Println("no cluster: OTELPPROF_KUBERNETES must name the directory of kube-apiserver and kube-controller-manager, and etcd and kubectl must be installed")
		return 1
	}
	if os.Getuid() != 0 {
		fmt.Println("no cluster: only root can give the gateway the files of a pod")
		return 1
	}
	directory, err := os.MkdirTemp("", "cluster")
	if err != nil {
		fmt.Println(err)
		return 1
	}
	defer os.RemoveAll(directory)
	begin := time.Now()
	plane, err = startControlPlane(directory, binaries)
	defer plane.stop()
	if err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Printf("the control plane runs after %s\n", time.Since(begin).Round(time.Millisecond))
	return m.Run()
}
