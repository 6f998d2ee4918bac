// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { goUsageText } from '../flags/go-usage.ts';
import { retryFlags, standardFlags } from './shared-flags.ts';

it('given --help, then each flag that programs share has its type, its text and its default', async () => {
  expect(await goUsageText('csi-sample', { ...standardFlags, ...retryFlags('attach') })).toBe(
    `Usage of csi-sample:
  -automaxprocs
    \taccepted for compatibility (the original sets its scheduler threads from the CPU quota); has no effect
  -check-rights
    \tLog at the start which rights the account lacks. (default true)
  -csi-address string
    \tAddress of the CSI driver socket. (default "/run/csi/socket")
  -debug-explain string
    \t/debug/explain on --http-endpoint, for csi-sidecars explain: off, loopback (this pod only), any. (default "off")
  -http-endpoint string
    \tThe TCP address of the HTTP server for metrics and leader election health, for example :8080. Empty: no server. Excludes --metrics-address.
  -kube-api-burst int
    \tBurst to use while communicating with the kubernetes apiserver. (default 10)
  -kube-api-qps float
    \tQPS to use while communicating with the kubernetes apiserver; negative: no limit. (default 5)
  -kubeconfig string
    \tAbsolute path to the kubeconfig file. Required only when running out of cluster.
  -leader-election
    \tEnable leader election.
  -leader-election-labels value
    \tLabels for the lease of the leading replica: key:value,key2:value2. May be repeated.
  -leader-election-lease-duration duration
    \tTime that non-leader candidates wait before they take over. (default 15s)
  -leader-election-namespace string
    \tNamespace where the leader election resource lives. Defaults to the pod namespace if not set.
  -leader-election-renew-deadline duration
    \tTime the leader retries to renew before it gives up. (default 10s)
  -leader-election-retry-period duration
    \tTime between attempts. (default 5s)
  -log-flush-frequency duration
    \tMaximum time between log flushes (default 5s)
  -log-json-info-buffer-size string
    \tAlpha in the original, where it cannot be enabled either: a value other than the default is refused. (default "0")
  -log-json-split-stream
    \tAlpha in the original, where it cannot be enabled either: a value other than the default is refused.
  -log-text-info-buffer-size string
    \tAlpha in the original, where it cannot be enabled either: a value other than the default is refused. (default "0")
  -log-text-split-stream
    \tAlpha in the original, where it cannot be enabled either: a value other than the default is refused.
  -logging-format string
    \tSets the log format. Permitted formats: "json", "text". (default "text")
  -metrics-address string
    \tDEPRECATED: use --http-endpoint. The TCP address of the metrics server.
  -metrics-path string
    \tThe HTTP path where prometheus metrics are exposed. (default "/metrics")
  -retry-interval-max duration
    \tMaximum retry interval of a failed attach. (default 5m0s)
  -retry-interval-start duration
    \tInitial retry interval of a failed attach; doubles with each failure, up to retry-interval-max. (default 1s)
  -tracing-endpoint string
    \tURL of a collector for traces (OTLP over HTTP), for example http://collector:4318. env: that of OTEL_EXPORTER_OTLP_ENDPOINT. Empty: no traces.
  -tracing-headers-file string
    \tFile with headers for the collector: lines name: value.
  -tracing-sampling-ratio float
    \tPart of the traces that is sent, 0 to 1. Failed and slow runs always are. (default 0.1)
  -tracing-trace-id string
    \tobject: a trace of each claim, with its UID. run: of each run. (default "object")
  -v value
    \tnumber for the log level verbosity
  -version
    \tShow version.
  -vmodule value
    \tcomma-separated list of pattern=N settings for file-filtered logging (text format only; accepted, matches no file here)
`,
  );
});
