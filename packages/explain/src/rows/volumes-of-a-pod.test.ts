// SPDX-License-Identifier: Apache-2.0
/** Volumes of one pod whose answers come from the same kinds: what was read for one of them does not answer for another. */
import { describe, expect, it } from 'vitest';
import {
  addWithEvent,
  asked,
  attachment,
  boundClaim,
  claim,
  clusterOf,
  csiDriver,
  csiNode,
  driver,
  explain,
  namespace,
  node,
  nodePlugin,
  pod,
  storageClass,
  volumeOf,
} from '../../testing/cluster.ts';
import { attachmentNameOf } from '../facts/volume.ts';

const claims = ['one', 'two'];
const writer = pod('writer', {
  metadata: { uid: 'uid-of-writer' },
  spec: {
    nodeName: 'node-a',
    volumes: claims.map((claimName) => ({ name: claimName, persistentVolumeClaim: { claimName } })),
  },
});
const ofWriter = ['pod/writer', '-n', namespace];
const cluster = [storageClass('gp'), csiDriver(), csiNode('node-a'), node('node-a')];

const rowsOf = (
  volumes: readonly { readonly subject: { readonly name: string }; readonly row: string }[] | null | undefined,
) => Object.fromEntries((volumes ?? []).map(({ subject, row }) => [subject.name, row]));

describe('two volumes of a pod', () => {
  it('given each attached to a node that is gone, when explained, then each waits for its own node', async () => {
    const host = clusterOf([
      ...cluster,
      ...claims.flatMap((name) => [boundClaim(name), volumeOf(name)]),
      ...claims.map((name) =>
        attachment(`of-${name}`, { node: `node-of-${name}`, volume: `pv-${name}`, status: { attached: true } }),
      ),
    ]);
    const message = 'Multi-Attach error for volume "pv-one" Volume is already exclusively attached to one node';
    addWithEvent(host, writer, { reason: 'FailedAttachVolume', message, firstAgo: 60, lastAgo: 5 });
    const { document } = await explain(host, ofWriter);
    expect(rowsOf(document.volumes)).toEqual({ one: 'X47', two: 'X47' });
    const sentences = (document.volumes ?? []).map(({ sentence }) => sentence);
    for (const name of claims) expect(sentences.join()).toContain(`attached to node node-of-${name},`);
  });

  it('given drivers of which one has a DaemonSet, and both are not registered, when explained, then only its registrar is looked at', async () => {
    const other = 'b.example.com';
    const host = clusterOf([
      ...cluster.slice(0, 2),
      csiDriver(other),
      csiNode('node-a', []),
      node('node-a'),
      ...nodePlugin('node-a'),
      boundClaim('one'),
      volumeOf('one'),
      boundClaim('two'),
      volumeOf('two', { spec: { csi: { driver: other, volumeHandle: 'vol-two' } } }),
      writer,
    ]);
    const { document } = await explain(host, ofWriter);
    expect(rowsOf(document.volumes)).toEqual({ one: 'X44', two: 'X43' });
  });

  it('given sidecars without election in Deployments of their own, when explained, then each of them is found', async () => {
    const workload = (program: string): object => ({
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: program, namespace: 'storage' },
      spec: {
        template: {
          spec: {
            containers: [
              { name: program, image: `registry.example.com/${program}:v1`, env: [{ name: 'DRIVER', value: driver }] },
            ],
          },
        },
      },
    });
    const host = clusterOf([
      ...cluster,
      workload('csi-provisioner'),
      workload('csi-attacher'),
      claim('one', { metadata: asked }),
      boundClaim('two'),
      volumeOf('two'),
      attachment(attachmentNameOf({ driver, handle: 'vol-two', isMigrated: false }, 'node-a'), {
        volume: 'pv-two',
        metadata: { creationTimestamp: '2000-01-01T00:00:00Z' },
      }),
      writer,
    ]);
    const { document } = await explain(host, ofWriter);
    expect(rowsOf(document.volumes)).toEqual({ one: 'X31', two: 'X51' });
  });
});
