// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package cluster

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"
)

const (
	adminToken = "the-tests"
	// patience is the time limit for each step of another process.
	patience  = 2 * time.Minute
	pollEvery = 50 * time.Millisecond
	// writers is how many requests a test sends to the API at a time.
	writers = 16
)

// controlPlane has the running etcd, API server and controller manager, with all their files in one directory.
type controlPlane struct {
	directory string
	port      int
	processes []*exec.Cmd
	client    *http.Client
	// api is the API server, which can be stopped and started again.
	api struct {
		program   string
		arguments []string
		process   *exec.Cmd
	}
}

// startControlPlane starts the binaries. After an error, the caller must stop the processes that run already.
func startControlPlane(directory, binaries string) (*controlPlane, error) {
	c := &controlPlane{directory: directory}
	ports, err := freePorts(3)
	if err != nil {
		return c, err
	}
	c.port = ports[0]
	if err := errors.Join(c.writeKeys(), c.write("tokens.csv", adminToken+`,admin,1,"system:masters"`), c.write("audit.yaml", auditPolicy)); err != nil {
		return c, err
	}
	etcd, peers := "http://127.0.0.1:"+strconv.Itoa(ports[1]), "http://127.0.0.1:"+strconv.Itoa(ports[2])
	if _, err := c.start("etcd", "--data-dir="+c.path("etcd"), "--listen-client-urls="+etcd, "--advertise-client-urls="+etcd,
		"--listen-peer-urls="+peers, "--initial-advertise-peer-urls="+peers, "--initial-cluster=default="+peers, "--log-level=error"); err != nil {
		return c, err
	}
	c.api.program = filepath.Join(binaries, "kube-apiserver")
	c.api.arguments = []string{
		"--etcd-servers=" + etcd, "--bind-address=127.0.0.1", "--advertise-address=127.0.0.1",
		"--secure-port=" + strconv.Itoa(c.port), "--cert-dir=" + c.path("certificates"), "--service-cluster-ip-range=10.0.0.0/24",
		"--service-account-issuer=https://kubernetes.default.svc", "--service-account-key-file=" + c.path("accounts.pub"),
		"--service-account-signing-key-file=" + c.path("accounts.key"), "--token-auth-file=" + c.path("tokens.csv"), "--authorization-mode=RBAC",
		"--audit-policy-file=" + c.path("audit.yaml"), "--audit-log-path=" + c.path("audit.log"), "--endpoint-reconciler-type=none",
	}
	if err := c.startAPI(); err != nil {
		return c, err
	}
	if err := c.write("kubeconfig", fmt.Sprintf(kubeconfig, c.port, c.authority(), adminToken)); err != nil {
		return c, err
	}
	// No kubelet reports the state of nodes. The controller must not evict pods because of that.
	_, err = c.start(filepath.Join(binaries, "kube-controller-manager"), "--kubeconfig="+c.path("kubeconfig"), "--leader-elect=false",
		"--secure-port=0", "--controllers=*,-node-lifecycle-controller", "--root-ca-file="+c.authority(),
		"--service-account-private-key-file="+c.path("accounts.key"), "--horizontal-pod-autoscaler-sync-period=1s")
	return c, err
}

// auditPolicy logs the requests of service accounts.
const auditPolicy = `
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
  - {level: None, userGroups: ["system:masters"]}
  - {level: Metadata, userGroups: ["system:serviceaccounts"]}
`

const kubeconfig = `
apiVersion: v1
kind: Config
current-context: test
contexts: [{name: test, context: {cluster: test, user: test}}]
clusters: [{name: test, cluster: {server: "https://127.0.0.1:%d", certificate-authority: %q}}]
users: [{name: test, user: {token: %s}}]
`

func (c *controlPlane) path(name string) string { return filepath.Join(c.directory, name) }

// authority returns the file with the certificate of the authority for the API server's certificate.
func (c *controlPlane) authority() string { return c.path("certificates/apiserver.crt") }

func (c *controlPlane) write(name, text string) error {
	return os.WriteFile(c.path(name), []byte(text), 0o600)
}

// writeKeys makes the keys that sign the tokens of service accounts.
func (c *controlPlane) writeKeys() error {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return err
	}
	public, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		return err
	}
	return errors.Join(
		c.write("accounts.key", string(pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}))),
		c.write("accounts.pub", string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public}))),
	)
}

// start starts a program that ends with the tests, even if they are killed. Its log is a file with its name.
func (c *controlPlane) start(program string, arguments ...string) (*exec.Cmd, error) {
	log, err := os.Create(c.path(filepath.Base(program) + ".log"))
	if err != nil {
		return nil, err
	}
	defer log.Close()
	command := exec.Command(program, arguments...)
	command.Stdout, command.Stderr = log, log
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := command.Start(); err != nil {
		return nil, err
	}
	c.processes = append(c.processes, command)
	return command, nil
}

// startAPI starts the API server, and waits until it is ready.
func (c *controlPlane) startAPI() (err error) {
	if c.api.process, err = c.start(c.api.program, c.api.arguments...); err != nil {
		return err
	}
	return c.waitReady()
}

// stopAPI kills the API server, as when its machine is gone.
func (c *controlPlane) stopAPI() {
	_ = c.api.process.Process.Kill()
	_ = c.api.process.Wait()
	c.client.CloseIdleConnections()
}

// waitReady waits until the API server answers. Its certificate exists earlier.
func (c *controlPlane) waitReady() error {
	var last error
	for begin := time.Now(); time.Since(begin) < patience; time.Sleep(pollEvery) {
		if last = c.connect(); last != nil {
			continue
		}
		var response *http.Response
		if response, last = c.client.Get(c.url("/readyz")); last != nil {
			continue
		}
		_ = response.Body.Close()
		if response.StatusCode == http.StatusOK {
			return nil
		}
		last = errors.New(response.Status)
	}
	return fmt.Errorf("the API server is not ready: %w", last)
}

// stop ends the processes, the last one first.
func (c *controlPlane) stop() {
	for _, process := range slices.Backward(c.processes) {
		_ = process.Process.Kill()
		_ = process.Wait()
	}
}

func freePorts(number int) (ports []int, err error) {
	for range number {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer listener.Close()
		ports = append(ports, listener.Addr().(*net.TCPAddr).Port)
	}
	return ports, nil
}

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
