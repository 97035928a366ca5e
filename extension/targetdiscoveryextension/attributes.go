// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package targetdiscoveryextension

import (
	"strings"

	"github.com/prometheus/prometheus/model/labels"
)

const (
	kubernetesPrefix  = "__meta_kubernetes_"
	podPrefix         = kubernetesPrefix + "pod_"
	annotationPrefix  = podPrefix + "annotation_"
	podLabelPrefix    = podPrefix + "label_"
	serviceName       = "service.name"
	serviceInstanceID = "service.instance.id"
)

// metaAttributes are the attributes that the semantic conventions define for what is known of a target.
var metaAttributes = []struct{ label, attribute string }{
	{kubernetesPrefix + "namespace", "k8s.namespace.name"},
	{kubernetesPrefix + "node_name", "k8s.node.name"},
	{kubernetesPrefix + "endpoint_node_name", "k8s.node.name"},
	{kubernetesPrefix + "service_name", "k8s.service.name"},
	{podPrefix + "node_name", "k8s.node.name"},
	{podPrefix + "name", "k8s.pod.name"},
	{podPrefix + "uid", "k8s.pod.uid"},
	{podPrefix + "ip", "k8s.pod.ip"},
	{podPrefix + "container_name", "k8s.container.name"},
	{podPrefix + "deployment_name", "k8s.deployment.name"},
	{podPrefix + "job_name", "k8s.job.name"},
	{podPrefix + "cronjob_name", "k8s.cronjob.name"},
}

// controllers are the attributes for the kinds of controllers of a pod.
var controllers = map[string]string{
	"ReplicaSet": "k8s.replicaset.name", "StatefulSet": "k8s.statefulset.name", "DaemonSet": "k8s.daemonset.name", "Job": "k8s.job.name",
}

// serviceLabels are the labels with attributes of the service, by precedence.
var serviceLabels = []struct{ attribute, label string }{
	{serviceName, annotationPrefix + "resource_opentelemetry_io_service_name"},
	{serviceName, annotationPrefix + "profiles_grafana_com_service_name"},
	{serviceName, annotationPrefix + "pyroscope_io_service_name"},
	{serviceName, podLabelPrefix + "app_kubernetes_io_instance"},
	{serviceName, podLabelPrefix + "app_kubernetes_io_name"},
	{"service.namespace", annotationPrefix + "resource_opentelemetry_io_service_namespace"},
	{"service.namespace", kubernetesPrefix + "namespace"},
	{"service.version", annotationPrefix + "resource_opentelemetry_io_service_version"},
	{"service.version", podLabelPrefix + "app_kubernetes_io_version"},
	{serviceInstanceID, annotationPrefix + "resource_opentelemetry_io_service_instance_id"},
	{"deployment.environment.name", annotationPrefix + "resource_opentelemetry_io_deployment_environment_name"},
}

// namesOfService are the attributes whose value is the name of the service where nothing else names it, by precedence.
var namesOfService = []string{
	"k8s.deployment.name", "k8s.replicaset.name", "k8s.statefulset.name", "k8s.daemonset.name", "k8s.cronjob.name", "k8s.job.name",
	"k8s.pod.name", "k8s.container.name",
}

// attributes returns the attributes of the resource: those for meta labels, and the labels that are kept, which override them.
func attributes(of *labels.Builder) map[string]string {
	made := map[string]string{}
	for _, one := range metaAttributes {
		if value := of.Get(one.label); value != "" {
			made[one.attribute] = value
		}
	}
	setController(made, of)
	// The id has the name of the runtime before it.
	if _, id, found := strings.Cut(of.Get(podPrefix+"container_id"), "://"); found {
		made["container.id"] = id
	}
	setService(made, of)
	setKept(made, of)
	return made
}

// setController sets the controller of a pod. The name of a ReplicaSet is that of its Deployment and a hash, which is a label.
func setController(made map[string]string, of *labels.Builder) {
	name := of.Get(podPrefix + "controller_name")
	if attribute, known := controllers[of.Get(podPrefix+"controller_kind")]; known && name != "" {
		made[attribute] = name
	}
	hash := of.Get(podLabelPrefix + "pod_template_hash")
	if deployment, found := strings.CutSuffix(made["k8s.replicaset.name"], "-"+hash); found && hash != "" && made["k8s.deployment.name"] == "" {
		made["k8s.deployment.name"] = deployment
	}
}

// setService sets the attributes of the service of a pod.
func setService(made map[string]string, of *labels.Builder) {
	if made["k8s.pod.name"] == "" {
		return
	}
	for _, one := range serviceLabels {
		if value := of.Get(one.label); value != "" && made[one.attribute] == "" {
			made[one.attribute] = value
		}
	}
	for _, attribute := range namesOfService {
		if made[serviceName] == "" {
			made[serviceName] = made[attribute]
		}
	}
	if made[serviceInstanceID] == "" && made["k8s.container.name"] != "" {
		made[serviceInstanceID] = made["k8s.namespace.name"] + "." + made["k8s.pod.name"] + "." + made["k8s.container.name"]
	}
}

// setKept sets the labels that the rules have left. Those of Prometheus and Pyroscope for the service become its attributes,
// unless a label is named like the attribute.
func setKept(made map[string]string, of *labels.Builder) {
	for _, one := range []struct{ label, attribute string }{
		{"job", serviceName}, {"service_name", serviceName}, {"instance", serviceInstanceID},
	} {
		if value := of.Get(one.label); value != "" {
			made[one.attribute] = value
		}
	}
	of.Range(func(l labels.Label) {
		switch {
		case strings.HasPrefix(l.Name, "__"), l.Name == "job", l.Name == "service_name", l.Name == "instance":
		default:
			made[l.Name] = l.Value
		}
	})
}
