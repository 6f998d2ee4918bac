// SPDX-License-Identifier: Apache-2.0
/** The settings of the command line, and the errors in it. */
import type { NodeDriverRegistrarValues } from './flags.ts';
import { messages } from './messages.ts';

export interface RegistrarSettings {
  readonly csiAddress: string;
  /** The path that kubelet gets, verbatim: it is a path on the host, which this container cannot check. */
  readonly endpoint: string;
  /** Folder of the registration socket. */
  readonly folder: string;
  /** Time limit of each call. */
  readonly timeoutMs: number;
  readonly http: HttpSettings | undefined;
}

export interface HttpSettings {
  readonly address: string;
  readonly profiling: 'served' | 'off';
}

export type ReadSettings =
  | { readonly kind: 'settings'; readonly settings: RegistrarSettings }
  /** There is nothing to do; the program ends with success. */
  | { readonly kind: 'probe' }
  | { readonly kind: 'refused'; readonly message: string };

/** The exec probe of many manifests, from the time when a file recorded the registration. */
const probeMode = 'kubelet-registration-probe';

export function readSettings(values: NodeDriverRegistrarValues): ReadSettings {
  if (values['kubelet-registration-path'] === '') return { kind: 'refused', message: messages.pathRequired };
  if (values.mode === probeMode) return { kind: 'probe' };
  const port = values['health-port'];
  const endpoint = values['http-endpoint'];
  if (port > 0 && endpoint !== '') return { kind: 'refused', message: messages.exclusiveEndpoints };
  const address = port > 0 ? `:${port}` : endpoint;
  return {
    kind: 'settings',
    settings: {
      csiAddress: values['csi-address'],
      endpoint: values['kubelet-registration-path'],
      folder: values['plugin-registration-path'],
      timeoutMs: values.timeout,
      http: address === '' ? undefined : { address, profiling: values['enable-pprof'] ? 'served' : 'off' },
    },
  };
}

/** Joined as upstream does: the path is not cleaned, and the separator is a slash on every system. */
export function socketPathOf(folder: string, driverName: string): string {
  return `${folder}/${driverName}-reg.sock`;
}
