// SPDX-License-Identifier: Apache-2.0
/** The CustomResourceDefinitions of the snapshot API and of SnapshotMetadataServices, as the chart installs them. */
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { isAlreadyExists, isNotFound, type ApiClient, type KubeObject, type Resource } from '@csi-sidecars/runtime';
import { load } from 'js-yaml';
import { repositoryRoot } from '../processes/program.ts';

export interface Definition extends KubeObject {
  readonly spec: {
    readonly group: string;
    readonly scope: 'Cluster' | 'Namespaced';
    readonly names: { readonly kind: string; readonly plural: string };
    readonly versions: readonly { readonly name: string; readonly served: boolean }[];
  };
  readonly status?: { readonly conditions?: readonly { readonly type: string; readonly status: string }[] };
}

export const definitions: Resource<Definition> = {
  group: 'apiextensions.k8s.io',
  version: 'v1',
  plural: 'customresourcedefinitions',
  kind: 'CustomResourceDefinition',
  namespaced: false,
};

export type SnapshotGroup = 'snapshot.storage.k8s.io' | 'groupsnapshot.storage.k8s.io' | 'cbt.storage.k8s.io';

export const definitionFolder: string = join(repositoryRoot, 'charts', 'snapshot-controller', 'files', 'crds');

export function snapshotDefinitions(groups: readonly SnapshotGroup[]): readonly Definition[] {
  return readdirSync(definitionFolder)
    .map((file) => load(readFileSync(join(definitionFolder, file), 'utf8')) as Definition)
    .filter(({ spec }) => groups.includes(spec.group as SnapshotGroup));
}

export interface Installation {
  /** Default: those of snapshots and of group snapshots. */
  readonly groups?: readonly SnapshotGroup[];
  /** Lets so much time pass for the server. */
  readonly pass: (ms: number) => Promise<void>;
}

const pollMs = 100;
const polls = 150;

/** Creates what is not there, leaves alone what is, and returns when all versions are served. */
export async function installSnapshotApi(client: ApiClient, { groups, pass }: Installation): Promise<void> {
  const wanted = snapshotDefinitions(groups ?? ['snapshot.storage.k8s.io', 'groupsnapshot.storage.k8s.io']);
  for (const definition of wanted) {
    await client.create(definitions, definition).catch((error: unknown) => {
      if (!isAlreadyExists(error)) throw error;
    });
  }
  for (const { spec } of wanted) {
    for (const { name: version } of spec.versions.filter(({ served }) => served)) {
      const { kind, plural } = spec.names;
      await untilServed(client, { group: spec.group, version, kind, plural, namespaced: false }, pass);
    }
  }
}

async function untilServed(client: ApiClient, resource: Resource, pass: Installation['pass']): Promise<void> {
  for (let poll = 0; poll < polls; poll += 1) {
    try {
      await client.list(resource, { limit: 1 });
      return;
    } catch (error) {
      if (!isNotFound(error)) throw error;
      await pass(pollMs);
    }
  }
  throw new Error(`${resource.plural}.${resource.group}/${resource.version} is not served`);
}
