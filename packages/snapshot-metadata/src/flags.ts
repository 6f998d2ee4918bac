// SPDX-License-Identifier: Apache-2.0
/** Command line of csi-snapshot-metadata. */
import {
  automaxprocsFlag,
  boolFlag,
  csiAddressFlag,
  durationFlag,
  type FlagsOf,
  inGroup,
  intFlag,
  kubeApiFlags,
  type KubeApiValues,
  klogFlags,
  loggingFlags,
  type LoggingValues,
  metricsPathFlag,
  type ProgramFlags,
  rare,
  stringFlag,
  versionFlag,
} from '@csi-sidecars/sidecar';

export interface OwnValues {
  /** Milliseconds. */
  readonly timeout: number;
  readonly port: number;
  readonly 'tls-cert': string;
  readonly 'tls-key': string;
  readonly 'tls-min-version': string;
  readonly 'tls-cipher-suites': string;
  readonly 'tls-curve-preferences': string;
  readonly audience: string;
  readonly 'max-streaming-duration-min': number;
  readonly 'max-streams': number;
  readonly 'max-streams-per-user': number;
  readonly 'max-connections': number;
  readonly 'snapshot-labels': boolean;
  readonly 'http-endpoint': string;
  readonly 'metrics-path': string;
  readonly 'disable-metrics': boolean;
}

export interface SnapshotMetadataValues extends LoggingValues, KubeApiValues, OwnValues {
  readonly automaxprocs: boolean;
  readonly version: boolean;
  readonly 'csi-address': string;
}

const ownFlags: FlagsOf<OwnValues> = {
  timeout: durationFlag(60_000, 'The time limit of GetPluginInfo, GetPluginCapabilities and each Probe.'),
  port: intFlag(50_051, 'The TCP port of the gRPC service, on all addresses.'),
  'tls-cert': stringFlag('', 'File of the certificate, with those of its issuers after it. Default: TLS_CERT_PATH.'),
  'tls-key': stringFlag('', 'File of the private key of --tls-cert. Default: TLS_KEY_PATH.'),
  'tls-min-version': rare(stringFlag('', 'VersionTLS12 or VersionTLS13. Empty: VersionTLS12.')),
  'tls-cipher-suites': rare(
    stringFlag('', "Cipher suites of TLS 1.2, in Go's names, separated by commas. Empty: all."),
  ),
  'tls-curve-preferences': rare(stringFlag('', "Curves in Go's names, the preferred first. Empty: all.")),
  audience: stringFlag('', 'The audience of tokens. Empty: that of the SnapshotMetadataService of the driver.'),
  'max-streaming-duration-min': intFlag(10, 'The time limit of a request, in minutes. Zero or less: 10.'),
  'max-streams': rare(intFlag(256, 'Streams that are served at a time.')),
  'max-streams-per-user': rare(intFlag(64, 'Streams of one user at a time.')),
  'max-connections': rare(intFlag(512, 'Connections at a time, those in their handshake included.')),
  'snapshot-labels': rare(
    boolFlag(false, 'Label metrics with the names of snapshots: of authorized requests, at most 100.'),
  ),
  ...inGroup('Log, metrics, version', {
    'http-endpoint': stringFlag(':8080', 'The TCP address of /health and metrics.'),
    'metrics-path': metricsPathFlag,
    'disable-metrics': rare(boolFlag(false, 'Serve no metrics.')),
  }),
};

/** Of the version of klog that upstream's program has, and others have not. */
const alsoKlog = {
  alsologtostderrthreshold: {
    ...stringFlag('', 'accepted for compatibility (a flag of klog); has no effect'),
    hidden: true,
  },
};

export const snapshotMetadataProgram: ProgramFlags<SnapshotMetadataValues> = {
  name: 'csi-snapshot-metadata',
  syntax: 'go',
  gates: {},
  flags: {
    ...klogFlags,
    ...alsoKlog,
    ...loggingFlags,
    ...kubeApiFlags,
    ...ownFlags,
    automaxprocs: automaxprocsFlag,
    version: versionFlag,
    'csi-address': csiAddressFlag,
  },
};
