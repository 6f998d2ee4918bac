// SPDX-License-Identifier: Apache-2.0
/** Flags that several programs share, with upstream's names, types and defaults. */
import {
  boolFlag,
  durationFlag,
  featureGatesFlag,
  floatFlag,
  ignoredBoolFlag,
  inGroup,
  intFlag,
  labelsFlag,
  rare,
  stringFlag,
  verbosityFlag,
  vmoduleFlag,
  type Flag,
  type FlagsOf,
  type GateSettings,
  type StringMap,
} from '../flags/flag.ts';
import { gatesUsage, type Gate } from '../flags/gates.ts';

const second = 1_000;

const process = 'Log, metrics, version';

/** Settings that only the alpha logging gate of Go's component-base would allow; any but the default is refused. */
const alphaLogging =
  'Alpha in the original, where it cannot be enabled either: a value other than the default is refused.';

export interface LoggingValues {
  readonly v: number;
  readonly vmodule: readonly string[];
  readonly 'logging-format': string;
  /** Milliseconds. */
  readonly 'log-flush-frequency': number;
  readonly 'log-text-split-stream': boolean;
  readonly 'log-text-info-buffer-size': string;
  readonly 'log-json-split-stream': boolean;
  readonly 'log-json-info-buffer-size': string;
}

export const loggingFlags: FlagsOf<LoggingValues> = inGroup(process, {
  v: { ...verbosityFlag('number for the log level verbosity'), brief: 'The level of the log; 5 shows each decision.' },
  vmodule: rare(
    vmoduleFlag(
      'comma-separated list of pattern=N settings for file-filtered logging (text format only; accepted, matches no file here)',
    ),
  ),
  'logging-format': {
    ...stringFlag('text', 'Sets the log format. Permitted formats: "json", "text".'),
    brief: 'The format of the log: text or json.',
  },
  'log-flush-frequency': rare(durationFlag(5 * second, 'Maximum time between log flushes')),
  'log-text-split-stream': rare(boolFlag(false, alphaLogging)),
  'log-text-info-buffer-size': rare(stringFlag('0', alphaLogging)),
  'log-json-split-stream': rare(boolFlag(false, alphaLogging)),
  'log-json-info-buffer-size': rare(stringFlag('0', alphaLogging)),
});

export const automaxprocsFlag: Flag<boolean> = ignoredBoolFlag(
  'accepted for compatibility (the original sets its scheduler threads from the CPU quota); has no effect',
);

export const versionFlag: Flag<boolean> = { ...boolFlag(false, 'Show version.'), group: process };

export const csiAddressFlag: Flag<string> = {
  ...stringFlag('/run/csi/socket', 'Address of the CSI driver socket.'),
  group: 'Driver',
};

/** csi-provisioner and csi-resizer have it. */
export const masterFlag: Flag<string> = { ...rare(stringFlag('', 'API server URL.')), group: 'API server' };
const kubeconfigFlag: Flag<string> = stringFlag(
  '',
  'Absolute path to the kubeconfig file. Required only when running out of cluster.',
);

export interface LeaderElectionValues {
  readonly 'leader-election': boolean;
  readonly 'leader-election-namespace': string;
  /** Milliseconds. */
  readonly 'leader-election-lease-duration': number;
  /** Milliseconds. */
  readonly 'leader-election-renew-deadline': number;
  /** Milliseconds. */
  readonly 'leader-election-retry-period': number;
}

export const leaderElectionFlags: FlagsOf<LeaderElectionValues> = inGroup('Leader election', {
  'leader-election': boolFlag(false, 'Enable leader election.'),
  'leader-election-namespace': stringFlag(
    '',
    'Namespace where the leader election resource lives. Defaults to the pod namespace if not set.',
  ),
  'leader-election-lease-duration': durationFlag(
    15 * second,
    'Time that non-leader candidates wait before they take over.',
  ),
  'leader-election-renew-deadline': durationFlag(10 * second, 'Time the leader retries to renew before it gives up.'),
  'leader-election-retry-period': durationFlag(5 * second, 'Time between attempts.'),
});

export interface KubeApiValues {
  readonly kubeconfig: string;
  readonly 'kube-api-qps': number;
  readonly 'kube-api-burst': number;
}

export const kubeApiFlags: FlagsOf<KubeApiValues> = inGroup('API server', {
  kubeconfig: kubeconfigFlag,
  'kube-api-qps': {
    ...floatFlag(5, 'QPS to use while communicating with the kubernetes apiserver; negative: no limit.'),
    brief: 'Requests to the API server in a second; negative: no limit.',
  },
  'kube-api-burst': intFlag(10, 'Burst to use while communicating with the kubernetes apiserver.'),
});

export interface RightsValues {
  /** Our own flag. */
  readonly 'check-rights': boolean;
}

export const rightsFlags: FlagsOf<RightsValues> = inGroup('API server', {
  'check-rights': {
    ...boolFlag(true, 'Log at the start which rights the account lacks.'),
  },
});

export interface EventsValues {
  /** Our own flag. One of `selections` in process/written-events.ts. */
  readonly events: string;
}

/** For the programs that record events of which some only say that something begins. */
export const eventsFlags: FlagsOf<EventsValues> = inGroup('API server', {
  events: rare(stringFlag('all', 'Events to write: all, or outcome (not that something begins).')),
});

export interface EndpointValues {
  readonly 'http-endpoint': string;
  readonly 'metrics-path': string;
}

export interface DebugExplainValues {
  /** Our own flag. */
  readonly 'debug-explain': string;
}

export const debugExplainFlags: FlagsOf<DebugExplainValues> = inGroup(process, {
  'debug-explain': rare(
    stringFlag(
      'off',
      '/debug/explain on --http-endpoint, for csi-sidecars explain: off, loopback (this pod only), any.',
    ),
  ),
});

export const metricsPathFlag: Flag<string> = rare(
  stringFlag('/metrics', 'The HTTP path where prometheus metrics are exposed.'),
);

export const endpointFlags: FlagsOf<EndpointValues> = inGroup(process, {
  'http-endpoint': {
    ...stringFlag(
      '',
      'The TCP address of the HTTP server for metrics and leader election health, for example :8080. Empty: no server. Excludes --metrics-address.',
    ),
    brief: 'The TCP address for metrics and health of the election, as in :8080.',
  },
  'metrics-path': metricsPathFlag,
});

export interface TracingValues {
  readonly 'tracing-endpoint': string;
  readonly 'tracing-sampling-ratio': number;
  readonly 'tracing-trace-id': string;
  readonly 'tracing-headers-file': string;
}

export const tracingFlags: FlagsOf<TracingValues> = inGroup(process, {
  'tracing-endpoint': {
    ...stringFlag(
      '',
      'URL of a collector for traces (OTLP over HTTP), for example http://collector:4318. env: that of OTEL_EXPORTER_OTLP_ENDPOINT. Empty: no traces.',
    ),
    brief: 'The URL of a collector for traces, as in http://collector:4318.',
  },
  'tracing-sampling-ratio': rare(
    floatFlag(0.1, 'Part of the traces that is sent, 0 to 1. Failed and slow runs always are.'),
  ),
  'tracing-trace-id': rare(stringFlag('object', 'object: a trace of each claim, with its UID. run: of each run.')),
  'tracing-headers-file': rare(stringFlag('', 'File with headers for the collector: lines name: value.')),
});

export const pprofFlag: Flag<boolean> = rare(boolFlag(false, 'Serve profiles below /debug/pprof/ on --http-endpoint.'));

export interface RetryValues {
  /** Milliseconds. */
  readonly 'retry-interval-start': number;
  /** Milliseconds. */
  readonly 'retry-interval-max': number;
}

/** `what` fails: an `attach or detach`. */
export function retryFlags(what: string): FlagsOf<RetryValues> {
  return {
    'retry-interval-start': {
      ...durationFlag(
        second,
        `Initial retry interval of a failed ${what}; doubles with each failure, up to retry-interval-max.`,
      ),
      brief: `Pause after a failed ${what}; doubles each time.`,
    },
    'retry-interval-max': durationFlag(300 * second, `Maximum retry interval of a failed ${what}.`),
  };
}

/** The flags of every sidecar that talks to the API server and to a driver. */
export interface StandardValues
  extends
    LoggingValues,
    LeaderElectionValues,
    KubeApiValues,
    RightsValues,
    EndpointValues,
    DebugExplainValues,
    TracingValues {
  readonly automaxprocs: boolean;
  readonly version: boolean;
  readonly 'csi-address': string;
  readonly 'leader-election-labels': StringMap;
  readonly 'metrics-address': string;
}

export const standardFlags: FlagsOf<StandardValues> = {
  ...loggingFlags,
  ...leaderElectionFlags,
  ...kubeApiFlags,
  ...rightsFlags,
  ...endpointFlags,
  ...debugExplainFlags,
  ...tracingFlags,
  automaxprocs: automaxprocsFlag,
  version: versionFlag,
  'csi-address': csiAddressFlag,
  'leader-election-labels': rare(
    labelsFlag('Labels for the lease of the leading replica: key:value,key2:value2. May be repeated.'),
  ),
  'metrics-address': { ...stringFlag('', 'The TCP address of the metrics server.'), deprecated: 'use --http-endpoint' },
};

export function gatesFlag(gates: Readonly<Record<string, Gate>>): Flag<GateSettings> {
  const brief = 'Name=true or Name=false, separated by commas. The names: --help=all.';
  return { ...featureGatesFlag(gatesUsage(gates)), brief };
}

/** Upstream's default is false. Here a leader that stops releases its lease at once. `=false` restores upstream exactly. */
export const releaseOnExitGate: Readonly<Record<'ReleaseLeaderElectionOnExit', Gate>> = {
  ReleaseLeaderElectionOnExit: { stage: 'ALPHA', defaultValue: true },
};

/** What component-base does not accept of the logging flags, in the words of the flags; empty if they are valid. */
export function invalidLogging(values: LoggingValues): readonly string[] {
  const format = values['logging-format'];
  const alpha = [
    values['log-text-split-stream'] ? 'log-text-split-stream' : undefined,
    values['log-json-split-stream'] ? 'log-json-split-stream' : undefined,
    values['log-text-info-buffer-size'] === '0' ? undefined : 'log-text-info-buffer-size',
    values['log-json-info-buffer-size'] === '0' ? undefined : 'log-json-info-buffer-size',
  ].filter((name) => name !== undefined);
  return [
    ...(format === 'text' || format === 'json'
      ? []
      : [`format: Invalid value: ${JSON.stringify(format)}: Unsupported log format`]),
    ...(format === 'json' && values.vmodule.length > 0
      ? ['vmodule: Forbidden: Only supported for text log format']
      : []),
    ...(values['log-flush-frequency'] > 0 ? [] : ['flushFrequency: Invalid value: Must be greater than zero']),
    ...alpha.map((name) => `${name}: Forbidden: Feature LoggingAlphaOptions is disabled`),
  ];
}
