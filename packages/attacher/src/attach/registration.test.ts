// SPDX-License-Identifier: Apache-2.0
/** A driver that registers on a node under another id, or leaves the node, while a run is under way. */
import { csiNodes, type KubeObject } from '@csi-sidecars/runtime';
import type { FaultRule } from '@csi-sidecars/runtime/testing';
import { describe, expect, it } from 'vitest';
import { anAttacher, type Fixture } from '../../testing/attacher-fixture.ts';
import { aCsiNode, anAttachment, attached, aVolume, finalizer } from '../../testing/builders.ts';
import { annotations } from '../names.ts';

const volumeMarked = 'patch persistentvolumes pv1 200';
const marked = 'patch volumeattachments va1 200';
const saved = 'patch volumeattachments/status va1 200';
const published = (nodeId: string): string => `ControllerPublishVolume volume-1 ${nodeId} OK`;
const unpublished = (nodeId: string): string => `ControllerUnpublishVolume volume-1 ${nodeId} OK`;

const slow = (verb: string, resource: string): FaultRule => ({
  when: (request) => request.verb === verb && request.resource === resource && request.subresource === undefined,
  fault: { kind: 'lag', ms: 5_000 },
  times: 1,
});
const secret: KubeObject = {
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name: 'login', namespace: 'team' },
};
const withSecret = { csi: { controllerPublishSecretRef: { name: 'login', namespace: 'team' } } };

const register = (a: Fixture, nodeId: string): void =>
  void a.server.objects.change(csiNodes, { name: 'node1' }, () => aCsiNode('node1', nodeId));
const leave = (a: Fixture): void => a.server.objects.remove(csiNodes, { name: 'node1' });
const nodeIdOf = (a: Fixture) => a.attachment()?.metadata?.annotations?.[annotations.nodeId];

/** The change comes while the first request of this kind is under way. */
async function during(
  request: readonly [verb: string, resource: string],
  change: (a: Fixture) => void,
  seed: readonly KubeObject[],
): Promise<Fixture> {
  const a = await anAttacher({ seed: [...seed, aCsiNode()], faults: [slow(...request)] });
  await a.clock.advance(1_000);
  change(a);
  await a.clock.advance(4_000);
  return a;
}

describe('an attach', () => {
  it.each([
    {
      step: 'the finalizer of the volume is added',
      request: ['patch', 'persistentvolumes'] as const,
      seed: [anAttachment(), aVolume({ finalizers: [] })],
      writes: [volumeMarked, marked, saved],
    },
    {
      step: 'the secret is read',
      request: ['get', 'secrets'] as const,
      seed: [anAttachment(), aVolume(withSecret), secret],
      writes: [marked, saved],
    },
    {
      step: 'the node id is written',
      request: ['patch', 'volumeattachments'] as const,
      seed: [anAttachment(), aVolume()],
      writes: [marked, marked, saved],
    },
  ])(
    '[attacher#36] given the driver registers under another id while $step, then the volume is published to that id, and the attachment keeps it',
    async ({ request, seed, writes }) => {
      const a = await during(request, (it) => register(it, 'new-id'), seed);
      expect([a.writes(), a.calls(), nodeIdOf(a)]).toEqual([writes, [published('new-id')], 'new-id']);
      expect([a.attachment()?.status?.attached, a.publishedOn()]).toEqual([true, ['new-id']]);
      expect(a.logger.messages().filter((message) => message.startsWith('Reconcile '))).toEqual([]);
      await a.stop();
    },
  );

  it('[attacher#36] given a server that does not keep the node id, when the driver registers under another id while it is written, then the volume is published once', async () => {
    const a = await anAttacher({ seed: [aVolume(), aCsiNode()], faults: [slow('patch', 'volumeattachments')] });
    const strip: FaultRule['when'] = ({ verb, resource, subresource }) => {
      if (verb === 'patch' && resource === 'volumeattachments' && subresource === 'status') return false;
      if (a.attachment() !== undefined && nodeIdOf(a) !== undefined) {
        a.change('va1', ({ metadata, ...rest }) => ({ ...rest, metadata: { ...metadata, annotations: {} } }));
      }
      return false;
    };
    a.faults.push({ when: strip, fault: { kind: 'delay', ms: 0 } });
    a.server.seed(anAttachment());
    await a.clock.advance(1_000);
    register(a, 'new-id');
    await a.clock.advance(10_000);
    expect([a.calls(), a.writes()]).toEqual([
      [published('new-id')],
      [marked, marked.replace('200', '409'), marked, saved],
    ]);
    expect(a.logger.messages().filter((message) => message.startsWith('Reconcile '))).toEqual([]);
    await a.stop();
  });

  it.each([
    {
      step: 'the finalizer of the volume is added',
      request: ['patch', 'persistentvolumes'] as const,
      seed: [anAttachment(), aVolume({ finalizers: [] })],
      writes: [volumeMarked, saved],
    },
    {
      step: 'the secret is read',
      request: ['get', 'secrets'] as const,
      seed: [anAttachment(), aVolume(withSecret), secret],
      writes: [saved],
    },
  ])(
    '[attacher#A10, 32] given the CSINode vanishes while $step, then the attachment gets the error and neither our finalizer nor a call',
    async ({ request, seed, writes }) => {
      const a = await during(request, leave, seed);
      expect([a.writes(), a.calls(), a.attachment()?.metadata?.finalizers]).toEqual([writes, [], undefined]);
      expect(a.attachment()?.status?.attachError?.message).toBe('csinode.storage.k8s.io "node1" not found');
      await a.stop();
    },
  );

  it('[attacher#A10, 32] given the CSINode vanishes while the node id is written, then nothing is published, and a deletion is carried out under the id that was written', async () => {
    const a = await during(['patch', 'volumeattachments'], leave, [anAttachment(), aVolume()]);
    await a.clock.advance(10);
    expect([a.writes(), a.calls(), a.attachment()?.metadata?.finalizers]).toEqual([[marked, saved], [], [finalizer]]);
    expect(a.attachment()?.status?.attachError?.message).toBe('csinode.storage.k8s.io "node1" not found');
    a.delete();
    await a.settle();
    expect([a.calls(), a.attachment()]).toEqual([[unpublished('id-of-node1')], undefined]);
    await a.stop();
  });
});

describe('a detach', () => {
  const leaving = anAttachment({ ...attached, deleting: 'yes' });

  it('[attacher#77] given the driver registers under another id while the secret is read, then the volume is unpublished from that id', async () => {
    const seed = [leaving, aVolume(withSecret), secret];
    const a = await during(['get', 'secrets'], (it) => register(it, 'new-id'), seed);
    expect([a.calls(), a.attachment()]).toEqual([[unpublished('new-id')], undefined]);
    await a.stop();
  });

  it('[attacher#75] given the CSINode vanishes while the secret is read, then the node id on the attachment is used', async () => {
    const a = await during(['get', 'secrets'], leave, [leaving, aVolume(withSecret), secret]);
    expect([a.calls(), a.attachment()]).toEqual([[unpublished('id-of-node1')], undefined]);
    await a.stop();
  });

  it('[attacher#68] given an unpublish that fails while the CSINode vanishes, then the error of the driver is written', async () => {
    const a = await anAttacher({ seed: [aVolume(), aCsiNode()] });
    a.driver.faults.add({ method: 'ControllerUnpublishVolume', times: 1, action: { kind: 'delay', ms: 5_000 } });
    a.driver.faults.add({ method: 'ControllerUnpublishVolume', times: 1, action: { kind: 'fail', code: 'Internal' } });
    a.server.seed(anAttachment({ finalizers: [finalizer], deleting: 'yes' }));
    await a.clock.advance(1_000);
    leave(a);
    await a.clock.advance(4_000);
    expect(a.attachment()?.status?.detachError?.message).toMatch(/code = Internal/);
    await a.stop();
  });
});
