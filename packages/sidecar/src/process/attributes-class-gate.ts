// SPDX-License-Identifier: Apache-2.0
/** The gate `VolumeAttributesClass`: a cluster without these classes switches it off, unless the command line sets it. */
import { type ApiClient, type Logger, servesKind } from '@csi-sidecars/runtime';

export interface AttributesClassGate {
  readonly started: {
    readonly gates: { readonly VolumeAttributesClass: boolean };
    readonly givenGates: ReadonlySet<string>;
  };
  readonly client: Pick<ApiClient, 'raw'>;
  readonly log: Logger;
  readonly signal: AbortSignal;
}

const kind = { groupVersion: 'storage.k8s.io/v1', kind: 'VolumeAttributesClass' };

/** Whether the program works with these classes: one discovery request. When it fails, the gate stays as it is. */
export async function usesAttributesClasses({ started, client, log, signal }: AttributesClassGate): Promise<boolean> {
  const isOn = started.gates.VolumeAttributesClass;
  if (!isOn || started.givenGates.has('VolumeAttributesClass')) return isOn;
  if ((await servesKind(client, kind, signal)) !== 'absent') return true;
  const message =
    'Disabling VolumeAttributesClass feature gate because the VolumeAttributesClass v1 API is not available';
  log.info(0, message);
  return false;
}
