// Checks Prometheus operator resources, a JSON array on standard input, against the schemas for their kinds.
import {
  PrometheusRule,
  ServiceMonitor,
} from '@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1';

const KINDS = { PrometheusRule, ServiceMonitor };
let text = '';
for await (const chunk of process.stdin) text += chunk;
for (const resource of JSON.parse(text)) new KINDS[resource.kind](resource).validate();
