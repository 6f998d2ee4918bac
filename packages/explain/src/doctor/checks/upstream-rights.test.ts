// SPDX-License-Identifier: Apache-2.0
/** Which releases of upstream's programs lack a right that earlier ones did not use. */
import { expect, it } from 'vitest';
import type { PolicyRule } from '@csi-sidecars/runtime';
import { add } from '../../../testing/cluster.ts';
import { controller, driverContainer, sidecar } from '../../../testing/workloads.ts';
import { clusterRole, installation, ruleTables } from '../../../testing/installation.ts';
import { doctor } from '../../../testing/examining.ts';

/** The roles of all programs, which one account has, without some verbs of a resource. */
function rolesWithout(resource: string, verbs: readonly string[]): readonly object[] {
  return Object.entries(ruleTables).map(([name, table]) => {
    const rules = table.map((rule): PolicyRule =>
      rule.resources.includes(resource) ? { ...rule, verbs: rule.verbs.filter((verb) => !verbs.includes(verb)) } : rule,
    );
    return clusterRole(`external-${name}-role`, rules);
  });
}

const table = [
  { of: 'provisioner', tag: 'v4.0.1', resource: 'persistentvolumes', verbs: ['patch'], found: [] },
  { of: 'provisioner', tag: 'v5.0.0', resource: 'persistentvolumes', verbs: ['patch'], found: ['error rights-1'] },
  { of: 'provisioner', tag: 'v5.3.0', resource: 'volumesnapshots', verbs: ['update', 'list', 'watch'], found: [] },
  { of: 'provisioner', tag: 'v6.0.0', resource: 'volumesnapshots', verbs: ['update'], found: [] },
  { of: 'provisioner', tag: 'v6.0.1', resource: 'volumesnapshots', verbs: ['update'], found: ['error rights-1'] },
  { of: 'provisioner', tag: 'v6.1.0', resource: 'volumesnapshots', verbs: ['update'], found: [] },
  { of: 'provisioner', tag: 'v6.1.1', resource: 'volumesnapshots', verbs: ['update'], found: ['error rights-1'] },
  { of: 'provisioner', tag: 'v6.2.1', resource: 'volumesnapshots', verbs: ['update'], found: ['error rights-1'] },
  { of: 'provisioner', tag: 'v6.2.1', resource: 'volumesnapshots', verbs: ['list', 'watch'], found: [] },
  { of: 'provisioner', tag: 'v6.3.0', resource: 'volumesnapshots', verbs: ['list'], found: ['error rights-1'] },
  { of: 'provisioner', tag: 'latest', resource: 'volumesnapshots', verbs: ['update'], found: ['warn rights-1'] },
  { of: 'attacher', tag: 'v2.2.1', resource: 'volumeattachments/status', verbs: ['patch'], found: [] },
  {
    of: 'attacher',
    tag: 'v4.0.0',
    resource: 'volumeattachments/status',
    verbs: ['patch'],
    found: ['error rights-2'],
  },
  { of: 'resizer', tag: 'v0.5.1', resource: 'pods', verbs: ['list', 'watch'], found: [] },
  { of: 'snapshotter', tag: 'v4.2.1', resource: 'volumesnapshotcontents', verbs: ['patch'], found: [] },
  { of: 'snapshotter', tag: 'v6.0.0', resource: 'volumesnapshotcontents', verbs: ['patch'], found: ['error rights-4'] },
] as const;

it.each(table)(
  'given csi-$of $tag that may not $verbs $resource, when examined, then it finds $found',
  async ({ of, tag, resource, verbs, found }) => {
    const host = installation();
    const image = `registry.k8s.io/sig-storage/csi-${of}:${tag}`;
    add(
      host,
      ...rolesWithout(resource, verbs),
      controller({ containers: [driverContainer, sidecar(`csi-${of}`, [], { image })] }),
    );
    expect((await doctor(host, ['--only=rights'])).found).toEqual(found);
  },
);

it('given csi-provisioner 6.3 that does not look for finalizers, when examined, then it needs no list of snapshots', async () => {
  const host = installation();
  const image = 'registry.k8s.io/sig-storage/csi-provisioner:v6.3.0';
  const quiet = sidecar('csi-provisioner', ['--snapshot-orphan-sweep-interval=0'], { image });
  add(
    host,
    ...rolesWithout('volumesnapshots', ['list', 'watch']),
    controller({ containers: [driverContainer, quiet] }),
  );
  expect((await doctor(host, ['--only=rights'])).found).toEqual([]);
});
