// SPDX-License-Identifier: Apache-2.0
/** What claims and PersistentVolumes say in the same way. */
import type { KubeObject } from '@csi-sidecars/runtime';
import { annotations } from './names.ts';

export function annotationsOf({ metadata }: KubeObject): Readonly<Record<string, string>> {
  return metadata?.annotations ?? {};
}

interface Classed extends KubeObject {
  readonly spec?: { readonly storageClassName?: string };
}

/** The beta annotation wins over the field. Empty: none. */
export function classNameOf(object: Classed): string {
  return annotationsOf(object)[annotations.betaStorageClass] ?? object.spec?.storageClassName ?? '';
}
