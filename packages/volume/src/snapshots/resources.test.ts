// SPDX-License-Identifier: Apache-2.0
/** Where the kinds live, beside the definitions that are installed in a cluster. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Resource } from '@csi-sidecars/runtime';
import { load } from 'js-yaml';
import { expect, it } from 'vitest';
import * as resources from './resources.ts';

interface Definition {
  readonly spec: {
    readonly group: string;
    readonly names: { readonly kind: string; readonly plural: string };
    readonly scope: string;
    readonly versions: readonly { readonly name: string; readonly served?: boolean }[];
  };
}

const folder = join(import.meta.dirname, '../../../../charts/snapshot-controller/files/crds');
const files = new Map<string, Resource>([
  ['volumesnapshots.snapshot', resources.volumeSnapshots],
  ['volumesnapshotcontents.snapshot', resources.volumeSnapshotContents],
  ['volumesnapshotclasses.snapshot', resources.volumeSnapshotClasses],
  ['volumegroupsnapshots.groupsnapshot', resources.volumeGroupSnapshots],
  ['volumegroupsnapshotcontents.groupsnapshot', resources.volumeGroupSnapshotContents],
  ['volumegroupsnapshotclasses.groupsnapshot', resources.volumeGroupSnapshotClasses],
]);

it.each([...files])(
  'given the definition %s, then its objects are read where it puts them, in version v1',
  (file, resource) => {
    const { spec } = load(readFileSync(join(folder, `${file}.storage.k8s.io.yaml`), 'utf8')) as Definition;
    expect(resource).toEqual({
      group: spec.group,
      version: 'v1',
      plural: spec.names.plural,
      kind: spec.names.kind,
      namespaced: spec.scope === 'Namespaced',
    });
    expect(spec.versions).toContainEqual(expect.objectContaining({ name: 'v1', served: true }));
  },
);

it('given the resources, then each has a definition', () => {
  expect(new Set(files.values())).toEqual(new Set<unknown>(Object.values(resources)));
});
