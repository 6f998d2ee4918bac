// SPDX-License-Identifier: Apache-2.0
/** ReferenceGrant of the Gateway API: a namespace permits claims of other namespaces to use its objects as sources. */
import type { KubeObject, Resource } from '@csi-sidecars/runtime';

export interface ReferenceGrant extends KubeObject {
  readonly spec?: {
    readonly from?: readonly { readonly group?: string; readonly kind?: string; readonly namespace?: string }[];
    /** Without a name: every object of the kind. */
    readonly to?: readonly { readonly group?: string; readonly kind?: string; readonly name?: string }[];
  };
}

export const referenceGrants: Resource<ReferenceGrant> = {
  group: 'gateway.networking.k8s.io',
  version: 'v1beta1',
  plural: 'referencegrants',
  kind: 'ReferenceGrant',
  namespaced: true,
};

/** A claim's reference to an object of another namespace. */
export interface Reference {
  readonly fromNamespace: string;
  /** Empty means the core group. */
  readonly group: string;
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
}

/** One grant has to permit both ends, in the namespace of the object. */
export function isGranted(grants: readonly ReferenceGrant[], reference: Reference): boolean {
  return grants.some(({ metadata, spec }) => {
    if (metadata?.namespace !== reference.namespace) return false;
    const isFrom = spec?.from?.some(
      ({ group, kind, namespace }) =>
        (group ?? '') === '' && kind === 'PersistentVolumeClaim' && namespace === reference.fromNamespace,
    );
    const isTo = spec?.to?.some(
      ({ group, kind, name }) =>
        (group ?? '') === reference.group &&
        kind === reference.kind &&
        ((name ?? '') === '' || name === reference.name),
    );
    return isFrom === true && isTo === true;
  });
}
