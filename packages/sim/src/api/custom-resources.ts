// SPDX-License-Identifier: Apache-2.0
/**
 * CustomResourceDefinitions: the server serves the kinds of a definition from its creation to its deletion. The definition is
 * established at once.
 *
 * Not here: schemas (nothing is validated, defaulted or pruned), CEL rules, conversion between versions: a resource of
 * several versions is stored as written and shown under the version that is asked for.
 */
import type { Admission, FakeApiServer, ResourceType, StoredObject } from '@csi-sidecars/runtime/testing';
import { toTime } from '../timestamps.ts';
import type { Clock } from '@csi-sidecars/runtime';

const group = 'apiextensions.k8s.io';
const plural = 'customresourcedefinitions';

interface Definition {
  readonly group: string;
  readonly scope: 'Namespaced' | 'Cluster';
  readonly names: {
    readonly plural: string;
    readonly kind: string;
    readonly singular?: string;
    readonly shortNames?: readonly string[];
  };
  readonly versions: readonly {
    readonly name: string;
    readonly served: boolean;
    readonly subresources?: { readonly status?: object };
  }[];
}

export interface CustomResources {
  readonly type: ResourceType;
  readonly admission: Admission;
  /** Must be called once the server exists. */
  readonly serveOn: (server: Pick<FakeApiServer, 'addTypes' | 'removeTypes' | 'types'>) => void;
}

export function createCustomResources(clock: Clock): CustomResources {
  let server: Pick<FakeApiServer, 'addTypes' | 'removeTypes' | 'types'> | undefined;

  function serve(definition: Definition): void {
    const wanted = typesOf(definition);
    const known = server?.types() ?? [];
    const isSame = (a: ResourceType, b: ResourceType): boolean =>
      a.group === b.group && a.plural === b.plural && a.version === b.version;
    const added = wanted.filter((type) => !known.some((other) => isSame(type, other)));
    if (added.length > 0) server?.addTypes(...added);
  }

  return {
    type: {
      group,
      version: 'v1',
      plural,
      kind: 'CustomResourceDefinition',
      namespaced: false,
      status: 'withMetadata',
      generation: true,
      shortNames: ['crd', 'crds'],
      stored: ({ spec }) => serve(spec as Definition),
      deleted: ({ spec }) =>
        server?.removeTypes({ group: (spec as Definition).group, plural: (spec as Definition).names.plural }),
    },
    admission: {
      mutate({ type, object, subresource }) {
        if (type.group !== group || subresource !== undefined) return object;
        return { ...object, status: establishedStatus(object, object['spec'] as Definition, clock) };
      },
    },
    serveOn(target) {
      server = target;
    },
  };
}

function typesOf(definition: Definition): readonly ResourceType[] {
  const { names, versions, scope } = definition;
  return versions
    .filter(({ served }) => served)
    .map(({ name, subresources }) => ({
      group: definition.group,
      version: name,
      plural: names.plural,
      kind: names.kind,
      namespaced: scope === 'Namespaced',
      singular: names.singular ?? names.kind.toLowerCase(),
      ...(names.shortNames === undefined ? {} : { shortNames: names.shortNames }),
      custom: true,
      generation: true,
      status: subresources?.status === undefined ? 'absent' : 'statusOnly',
    }));
}

function establishedStatus(object: StoredObject, { names, versions }: Definition, clock: Clock): object {
  const before = object['status'] as { readonly acceptedNames?: object } | undefined;
  if (before?.acceptedNames !== undefined) return before;
  const lastTransitionTime = toTime(clock.nowMs());
  const condition = (type: string, reason: string, message: string): object => ({
    type,
    status: 'True',
    lastTransitionTime,
    reason,
    message,
  });
  return {
    conditions: [
      condition('NamesAccepted', 'NoConflicts', 'no conflicts found'),
      condition('Established', 'InitialNamesAccepted', 'the initial names have been accepted'),
    ],
    acceptedNames: names,
    storedVersions: versions.slice(0, 1).map(({ name }) => name),
  };
}
