// SPDX-License-Identifier: Apache-2.0
/**
 * The life of a volume, attached, detached and deleted, with an API server that dies at the answer to one of the attacher's writes, and
 * with others who go on as soon as it is back. Nothing may end stuck: the volume is attached, comes off its node, and its objects end.
 */
import { persistentVolumes, volumeAttachments } from '@csi-sidecars/runtime';
import type { Fault, FaultRule } from '@csi-sidecars/runtime/testing';
import { type Flow, livesOf, timesLost, writesWithoutOutage } from '@csi-sidecars/test-driver/testing';
import { describe, expect, it } from 'vitest';
import { anAttacher, type Fixture, type FixtureOptions, handle } from '../testing/attacher-fixture.ts';
import { aCsiNode, anAttachment, aVolume, finalizer } from '../testing/builders.ts';
import { isDeleting } from './attachment.ts';
import { annotations } from './names.ts';

type Call = 'ControllerPublishVolume' | 'ControllerUnpublishVolume';

const nodeId = 'id-of-node1';
const foreign = 'others.example/holds';
const failures = 2;
/** Longer than the longest outage and the backoff that it leads to. */
const longEnough = 200_000;

const isTrivial = ({ driver }: Fixture): boolean =>
  !driver.settings.capabilities.controller.includes('PUBLISH_UNPUBLISH_VOLUME');

/** By another attacher, which tries again when the driver fails. */
async function callOfAnother(a: Fixture, method: Call): Promise<void> {
  if (isTrivial(a)) return;
  const capability = { mount: {}, access_mode: { mode: 'SINGLE_NODE_WRITER' as const } };
  const request = { volume_id: handle, node_id: nodeId, volume_capability: capability, readonly: false };
  const call = () => a.driver.channel().call(`/csi.v1.Controller/${method}`, request, { timeoutMs: 1_000 });
  for (let failed = 0; failed < failures; failed++) {
    if ((await call().catch(() => 'failed')) !== 'failed') return;
  }
  await call();
}

function remove(a: Fixture): void {
  if (a.attachment() !== undefined) a.server.objects.remove(volumeAttachments, { name: 'va1' });
}

/** What has happened by the time at which the attacher knows of it. */
const others: Flow<Fixture>['others'] = {
  'the attachment is deleted': {
    acts: (a) => {
      if (a.attachment() !== undefined) a.delete();
    },
  },
  'a second replica finishes': {
    acts: async (a) => {
      const attachment = a.attachment();
      if (attachment === undefined) return;
      if (isDeleting(attachment)) {
        await callOfAnother(a, 'ControllerUnpublishVolume');
        remove(a);
        return;
      }
      await callOfAnother(a, 'ControllerPublishVolume');
      a.change('va1', ({ metadata, ...rest }) => ({
        ...rest,
        metadata: {
          ...metadata,
          ...(isTrivial(a) ? {} : { finalizers: [finalizer], annotations: { [annotations.nodeId]: nodeId } }),
        },
        status: { attached: true },
      }));
    },
  },
  'the attachment is replaced by another one of its name': {
    acts: async (a) => {
      const volume = a.volume();
      if (volume === undefined || volume.metadata?.deletionTimestamp !== undefined) return;
      if (a.attachment() !== undefined) {
        await callOfAnother(a, 'ControllerUnpublishVolume');
        remove(a);
      }
      a.server.seed(anAttachment({ uid: 'another' }));
    },
  },
};

/** Whether the volume was attached, and what is left at the end. */
async function live(a: Fixture): Promise<unknown> {
  await a.clock.advance(longEnough);
  const attachment = a.attachment();
  const isAttached = attachment?.status?.attached === true && (isTrivial(a) || a.publishedOn().includes(nodeId));
  const wasUseful = attachment === undefined || isDeleting(attachment) || isAttached;
  // The second time the one that was made while the first one left.
  for (const _time of ['first', 'second']) {
    if (a.attachment() !== undefined) a.delete();
    await a.clock.advance(longEnough);
  }
  const published = a.publishedOn();
  const { finalizers, name } = a.attachment()?.metadata ?? {};
  remove(a);
  a.server.objects.delete(persistentVolumes, { name: 'pv1' });
  await a.clock.advance(longEnough);
  return { wasUseful, published, attachment: name, finalizers, volume: a.volume()?.metadata?.name };
}

const gone = {
  wasUseful: true,
  published: [],
  attachment: undefined,
  finalizers: undefined,
  volume: undefined,
};
const held = { ...gone, attachment: 'va1', finalizers: [foreign] };

interface Life {
  readonly writes: string;
  readonly fails?: Call;
  readonly options?: FixtureOptions;
}

function aLife(flow: string, { writes, fails, options }: Life): Flow<Fixture> {
  return {
    flow,
    world: () => anAttacher({ seed: [aVolume({ finalizers: [] }), aCsiNode()], ...options }),
    begin: (a) => {
      const action = { kind: 'fail', code: 'Internal', message: 'no' } as const;
      if (fails !== undefined) a.driver.faults.add({ method: fails, times: failures, action });
      a.server.seed(anAttachment());
    },
    live,
    ends: [[gone]],
    others,
    writes,
  };
}

const ofOthers = aLife('', { writes: 'A6 patch, A11 patch, A14 patch/status, D9 patch, D10 patch/status, F3 patch' });
const flows: readonly Flow<Fixture>[] = [
  aLife('a volume', { writes: 'A6 patch, A11 patch, A14 patch/status, D9 patch, F3 patch' }),
  {
    ...ofOthers,
    flow: 'a volume whose attachment others hold',
    begin: (a) => a.server.seed(anAttachment({ finalizers: [foreign] })),
    ends: [[held]],
    others: {
      ...others,
      'a second replica finishes': { acts: others['a second replica finishes']!.acts, ends: [[gone], [held]] },
      'the attachment is replaced by another one of its name': {
        acts: others['the attachment is replaced by another one of its name']!.acts,
        ends: [[gone], [held]],
      },
    },
  },
  aLife('a volume whose publish fails at first', {
    fails: 'ControllerPublishVolume',
    writes: 'A6 patch, A11 patch, A13 patch/status, A13 patch/status, A14 patch/status, D9 patch, F3 patch',
  }),
  aLife('a volume whose unpublish fails at first', {
    fails: 'ControllerUnpublishVolume',
    writes: 'A6 patch, A11 patch, A14 patch/status, D8 patch/status, D8 patch/status, D9 patch, F3 patch',
  }),
  aLife('a volume of a driver that attaches nothing', {
    options: { controller: [], seed: [aVolume({ finalizers: [] }), aCsiNode()] },
    writes: 'T3 patch/status',
  }),
];

it.each(timesLost(flows))(
  'given $flow, and an API server that dies at each write ($lost) and comes back, then it is attached, detached and deleted',
  async (flow) => {
    expect(await livesOf(flow)).toEqual({ writes: flow.writes, wrong: [], count: 0 });
  },
  60_000,
);

it('given the table of requests, then each write of it meets an outage', () => {
  expect(writesWithoutOutage('attacher', flows)).toEqual([]);
});

describe('an error that is written after a write without an answer', () => {
  const lost: Fault = { kind: 'break', point: 'after', failure: 'eof' };
  const slow: Fault = { kind: 'delay', ms: 1_000 };

  it('[attacher#59] given the mark has no answer, when a second replica attaches the volume before the error is written, then no error is written', async () => {
    const a = await anAttacher({ seed: [aVolume(), aCsiNode()] });
    a.fault('patch volumeattachments', lost);
    a.fault('patch volumeattachments/status', slow);
    a.server.seed(anAttachment());
    await a.settle();
    others['a second replica finishes']!.acts(a);
    await a.clock.advance(longEnough);
    expect([a.writes(), a.attachment()?.status]).toEqual([
      ['patch volumeattachments va1 200', 'patch volumeattachments/status va1 409'],
      { attached: true },
    ]);
    await a.stop();
  });

  it('[attacher#9] given others change the attachment at that moment, then it is read and gets the error, and a retry attaches the volume', async () => {
    const a = await anAttacher({ seed: [aVolume(), aCsiNode()] });
    a.fault('patch volumeattachments', lost);
    let isDue = true;
    const overtakes: FaultRule['when'] = ({ subresource }) => {
      if (isDue && subresource === 'status') {
        isDue = false;
        a.change('va1', (it) => ({ ...it, metadata: { ...it.metadata, managedFields: [{ manager: 'other' }] } }));
      }
      return false;
    };
    a.faults.push({ when: overtakes, fault: lost });
    a.server.seed(anAttachment());
    await a.clock.advance(100);
    const status = 'patch volumeattachments/status va1';
    expect(a.writes()).toEqual(['patch volumeattachments va1 200', `${status} 409`, `${status} 200`]);
    expect(a.attachment()?.status?.attachError?.message).toBe(
      'could not save VolumeAttachment: injected fault: eof after the commit',
    );
    await a.clock.advance(longEnough);
    expect([a.writes().slice(3), a.attachment()?.status]).toEqual([
      [`${status} 200`],
      { attached: true, attachmentMetadata: expect.anything() },
    ]);
    await a.stop();
  });

  it('[attacher#79] given the status of a detached attachment has no answer, and others hold the attachment, then it shows that it is detached, and no error', async () => {
    const a = await anAttacher({ seed: [aVolume(), aCsiNode(), anAttachment({ finalizers: ['x/y'] })] });
    a.server.clearRequests();
    a.fault('patch volumeattachments/status', lost);
    a.delete();
    await a.clock.advance(longEnough);
    expect([a.writes(), a.attachment()?.status, a.publishedOn()]).toEqual([
      ['patch volumeattachments va1 200', 'patch volumeattachments/status va1 200'],
      { attached: false },
      [],
    ]);
    await a.stop();
  });

  it('[attacher#68] given a user removes our finalizer during the publish and deletes the attachment, when the unpublish fails, then the error is written', async () => {
    const a = await anAttacher({ seed: [aVolume(), aCsiNode()] });
    a.driver.faults.add({ method: 'ControllerPublishVolume', at: 'after', action: { kind: 'delay', ms: 5_000 } });
    a.driver.faults.add({ method: 'ControllerUnpublishVolume', times: 2, action: { kind: 'fail', code: 'Internal' } });
    a.server.seed(anAttachment({ finalizers: ['x/y'] }));
    await a.clock.advance(1_000);
    a.change('va1', (it) => ({ ...it, metadata: { ...it.metadata, finalizers: ['x/y'] } }));
    a.delete();
    await a.clock.advance(4_100);
    expect(a.attachment()?.status?.detachError?.message).toMatch(/Internal/);
    await a.clock.advance(longEnough);
    expect(a.publishedOn()).toEqual([]);
    await a.stop();
  });
});
