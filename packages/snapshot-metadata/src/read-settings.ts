// SPDX-License-Identifier: Apache-2.0
/** From the command line to the settings, and which command lines are refused, with upstream's texts where it has them. */
import type { OwnValues } from './flags.ts';
import type { Settings } from './settings.ts';
import { tlsSettings, type TlsSettings } from './serve/tls-settings.ts';

export interface CommandLine {
  readonly values: OwnValues & { readonly 'csi-address': string };
  /** The flags that were given, whatever their values are. */
  readonly given: ReadonlySet<string>;
  readonly env: Readonly<Record<string, string | undefined>>;
}

export interface Checked {
  readonly settings: Settings;
  readonly tls: TlsSettings;
  readonly warning: string | undefined;
  readonly files: { readonly certFile: string; readonly keyFile: string };
}

export const healthPath = '/health';
const defaultMinutes = 10;
const largestPort = 65_535;

/** A text is the reason why the program cannot run. */
export function readSettings({ values, given, env }: CommandLine): Checked | string {
  const certFile = given.has('tls-cert') ? values['tls-cert'] : (env['TLS_CERT_PATH'] ?? '');
  const keyFile = given.has('tls-key') ? values['tls-key'] : (env['TLS_KEY_PATH'] ?? '');
  if (values['csi-address'] === '') return 'missing CSIAddress';
  if (values.timeout === 0) return 'missing CSITimeout';
  if (values.port <= 0 || values.port > largestPort) return `invalid GRPCPort: ${values.port}`;
  if (certFile === '') return 'missing TLSCertFile';
  if (keyFile === '') return 'missing TLSKeyFile';
  const refused = refusedEndpoint(values) ?? refusedLimit(values);
  if (refused !== undefined) return refused;
  const tls = tlsSettings({
    minVersion: values['tls-min-version'],
    cipherSuites: values['tls-cipher-suites'],
    curves: values['tls-curve-preferences'],
  });
  if (tls.kind === 'refused') return tls.reason;
  return { settings: settingsOf(values), tls: tls.settings, warning: tls.warning, files: { certFile, keyFile } };
}

function refusedEndpoint(values: OwnValues): string | undefined {
  const path = values['metrics-path'];
  if (values['http-endpoint'] === '') return '--http-endpoint must not be empty: the readiness probe needs it';
  if (values['disable-metrics']) return undefined;
  if (path === healthPath) return `--metrics-path=${path} is the path of the health, ${healthPath}`;
  return path.startsWith('/') ? undefined : `--metrics-path must begin with a slash: ${JSON.stringify(path)}`;
}

function refusedLimit(values: OwnValues): string | undefined {
  const limits = ['max-streams', 'max-streams-per-user', 'max-connections'] as const;
  const wrong = limits.find((name) => values[name] <= 0);
  return wrong === undefined ? undefined : `--${wrong} must be above zero: ${values[wrong]}`;
}

function settingsOf(values: OwnValues): Settings {
  const minutes = values['max-streaming-duration-min'];
  return {
    audience: values.audience,
    maxDurationMs: (minutes > 0 ? minutes : defaultMinutes) * 60_000,
    maxStreams: values['max-streams'],
    maxStreamsPerUser: values['max-streams-per-user'],
    maxConnections: values['max-connections'],
    snapshotLabels: values['snapshot-labels'] ? 'shown' : 'hidden',
  };
}
