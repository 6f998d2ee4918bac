// SPDX-License-Identifier: Apache-2.0
/** The texts about rights. */
import { resourceKey, type WantedRight } from './wanted.ts';

/** A text for each resource: `VERBS RESOURCE.GROUP (SCOPE)`, and what follows from all of its rights. */
export interface ResourceRights {
  readonly rights: readonly WantedRight[];
  readonly text: string;
  readonly consequence: string;
}

export function byResource(rights: readonly WantedRight[]): readonly ResourceRights[] {
  return [...Map.groupBy(rights, resourceKey).values()].map((ofOne) => {
    const verbs = ofOne.map(({ verb }) => verb).join(', ');
    const { namespace } = ofOne[0]!;
    const scope = namespace === undefined ? 'cluster-wide' : `namespace ${namespace}`;
    return {
      rights: ofOne,
      text: `${verbs} ${resourceName(ofOne[0]!)} (${scope})`,
      consequence: [...new Set(ofOne.map(({ without }) => without))].join('; '),
    };
  });
}

/** As `kubectl auth can-i --list` names it: `volumeattachments.storage.k8s.io/status`. */
function resourceName({ group, resource }: WantedRight): string {
  return group === '' ? resource : resource.replace(/(?=\/)|$/, `.${group}`);
}
