// SPDX-License-Identifier: Apache-2.0
/** Metadata that claims and PersistentVolumes have in common. */
import type { KubeObject } from '@csi-sidecars/runtime';
import { annotations } from './names.ts';

export function annotationsOf({ metadata }: KubeObject): Readonly<Record<string, string>> {
  return metadata?.annotations ?? {};
}

interface Classed extends KubeObject {
  readonly spec?: { readonly storageClassName?: string };
}

/** The beta annotation takes precedence over the field. Empty means none. */
export function classNameOf(object: Classed): string {
  return annotationsOf(object)[annotations.betaStorageClass] ?? object.spec?.storageClassName ?? '';
}
