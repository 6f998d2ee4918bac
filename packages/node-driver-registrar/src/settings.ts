// SPDX-License-Identifier: Apache-2.0
/** What the command line asks for, and which of it cannot be. */
import type { NodeDriverRegistrarValues } from './flags.ts';
import { messages } from './messages.ts';

export interface RegistrarSettings {
  readonly csiAddress: string;
  /** What kubelet is told, verbatim: it is a path on the host, which nobody here can look at. */
  readonly endpoint: string;
  /** Of the registration socket. */
  readonly folder: string;
  /** Of each call. */
  readonly timeoutMs: number;
  readonly http: HttpSettings | undefined;
}

export interface HttpSettings {
  readonly address: string;
  readonly profiling: 'served' | 'off';
}

export type ReadSettings =
  | { readonly kind: 'settings'; readonly settings: RegistrarSettings }
  /** Nothing is to be done, and that is success. */
  | { readonly kind: 'probe' }
  | { readonly kind: 'refused'; readonly message: string };

/** An exec probe of many manifests, from the days when a file told of the registration. */
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

/** As upstream joins it: nothing is cleaned, and a slash on every system. */
export function socketPathOf(folder: string, driverName: string): string {
  return `${folder}/${driverName}-reg.sock`;
}
