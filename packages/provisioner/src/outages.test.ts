// SPDX-License-Identifier: Apache-2.0
/**
 * The API server dies at the answer to each write of each flow, once before and once after its commit, and is away for a while. Soon
 * after its return somebody else goes on: kube-controller-manager, another replica, or a user who deletes the claim or its PersistentVolume. In the
 * end nothing is stuck, there is one volume at most, and once the claim is deleted nothing is left. Flows with many writes have fewer lengths.
 */
import { CsiError } from '@csi-sidecars/csi';
import { isDeepStrictEqual } from 'node:util';
import { persistentVolumeClaims, persistentVolumes } from '@csi-sidecars/runtime';
import { addOutage, type OutageOptions } from '@csi-sidecars/test-driver/testing';
import { expect, it } from 'vitest';
import { aClaim, aClass, aVolume, driverName } from '../testing/builders.ts';
import { aProvisioner, type Fixture } from '../testing/provisioner-fixture.ts';
import { playController } from '../testing/pv-controller.ts';
import { provisioningFinalizer, volumeFinalizer } from './names.ts';
import type { ProvisioningProtection } from './settings.ts';

type Finisher = (p: Fixture) => Promise<void> | void;

const name = 'pvc-uid-data';
const timeoutMs = 1_000;
const capability = { mount: {}, access_mode: { mode: 'SINGLE_NODE_WRITER' as const } };

/** The volume that the driver makes for the claim, or has made. */
async function aVolumeOf({ driver }: Fixture): Promise<string> {
  const request = { name, capacity_range: { required_bytes: '5368709120' }, volume_capabilities: [capability] };
  const { volume } = await driver.channel().call('/csi.v1.Controller/CreateVolume', request, { timeoutMs });
  return volume?.volume_id ?? '';
}
const recordOf = (volumeHandle: string, phase: string) =>
  aVolume({ phase, finalizers: [volumeFinalizer], spec: { csi: { driver: driverName, volumeHandle } } });

const deleteVolume: Finisher = (p) => {
  if (p.volume() !== undefined) p.server.objects.delete(persistentVolumes, { name });
};
/** Whatever holds it. */
const removeVolume: Finisher = (p) => {
  if (p.volume() !== undefined) p.server.objects.remove(persistentVolumes, { name });
};
const deleteClaim: Finisher = (p) => {
  if (p.claim() !== undefined) p.deleteClaim();
};
const provisionElsewhere: Finisher = async (p) => {
  const volumeHandle = await aVolumeOf(p).catch((error: unknown) => {
    if (error instanceof CsiError && error.code === 'Aborted') return undefined;
    throw error;
  });
  if (volumeHandle === undefined) {
    // A call of this process is under way. The other replica tries again.
    p.clock.timer(1_000, () => void provisionElsewhere(p));
    return;
  }
  if (p.volume() === undefined) p.server.seed(recordOf(volumeHandle, 'Pending'));
  p.changeClaim(({ metadata: { finalizers: _ours, ...metadata } = {}, ...claim }) => ({ ...claim, metadata }));
};
const deleteElsewhere: Finisher = async (p) => {
  const volume_id = p.driver.volumes()[0]?.id ?? 'gone';
  await p.driver.channel().call('/csi.v1.Controller/DeleteVolume', { volume_id }, { timeoutMs });
  if (p.volume() !== undefined) p.server.objects.remove(persistentVolumes, { name });
};

const claimIs = (claim: readonly [phase: string, isProtected: boolean]): unknown => ({
  claims: [claim],
  records: ['volume-1'],
  volumes: ['volume-1'],
});
const gone = { claims: [], records: [], volumes: [] };
const ends = {
  bound: [claimIs(['Bound', false])],
  gone: [gone],
  // It stays until its claim is deleted: our finalizer keeps it. Until then the claim is Pending. It is protected once it was looked at.
  'bound or waiting': [claimIs(['Bound', false]), claimIs(['Pending', true]), claimIs(['Pending', false])],
};

interface Story {
  readonly flow: string;
  readonly mode?: ProvisioningProtection;
  readonly begin: Finisher;
  readonly awayMs: readonly number[];
  readonly afterMs: readonly number[];
  /** With what is seen before the claim is deleted. */
  readonly finishers: Readonly<Record<string, readonly [Finisher, keyof typeof ends]>>;
}

const all = { awayMs: [500, 2_000, 10_000, 30_000], afterMs: [100, 1_000, 5_000] };
const claimed: Finisher = (p) => void p.server.seed(aClaim());
const provisioning: Story['finishers'] = {
  'kube-controller-manager': [playController, 'bound'],
  'another replica': [provisionElsewhere, 'bound'],
  'a user who deletes the claim': [deleteClaim, 'gone'],
  'a user who removes the PersistentVolume': [removeVolume, 'bound'],
  'a user who deletes the PersistentVolume': [deleteVolume, 'bound or waiting'],
};

const stories: readonly Story[] = [
  { flow: 'a provisioning', ...all, begin: claimed, finishers: provisioning },
  { flow: 'a provisioning with protection always', ...all, mode: 'always', begin: claimed, finishers: provisioning },
  {
    flow: 'a provisioning whose first answer is late',
    ...all,
    awayMs: [500, 10_000],
    begin: (p) => {
      p.driver.faults.add({ method: 'CreateVolume', at: 'during', times: 1, action: { kind: 'delay', ms: 12_000 } });
      return claimed(p);
    },
    finishers: provisioning,
  },
  {
    flow: 'a deletion',
    ...all,
    begin: async (p) => void p.server.seed(recordOf(await aVolumeOf(p), 'Released')),
    finishers: { nothing: [() => undefined, 'gone'], 'another replica': [deleteElsewhere, 'gone'] },
  },
];

const shown = (p: Fixture): unknown => ({
  claims: p.server.objects
    .list(persistentVolumeClaims)
    .map(({ metadata, status }) => [
      status?.phase,
      metadata?.finalizers?.includes(provisioningFinalizer(driverName)) === true,
    ]),
  records: p.server.objects.list(persistentVolumes).map(({ spec }) => spec?.csi?.volumeHandle),
  volumes: p.driver.volumes().map(({ id }) => id),
});

/** Undefined: the flow has fewer writes. */
async function endOf(
  story: Story,
  finish: Finisher,
  outage: Omit<OutageOptions, 'back'> & { readonly afterMs: number },
): Promise<{ readonly at: string; readonly first: unknown; readonly last: unknown } | undefined> {
  const p = await aProvisioner({
    seed: [aClass()],
    settings: { provisioningProtection: story.mode ?? 'ambiguous' },
  });
  const { afterMs, ...times } = outage;
  const death = addOutage(p, { ...times, back: [{ afterMs, happens: () => void finish(p) }] });
  await story.begin(p);
  const quiet = async (): Promise<unknown> => {
    for (let round = 0; round < 3; round++) {
      await p.clock.advance(80_000);
      playController(p);
    }
    await p.clock.advance(80_000);
    return shown(p);
  };
  const first = await quiet();
  const at = death.write();
  await deleteClaim(p);
  const last = at === undefined ? first : await quiet();
  await p.stop();
  return at === undefined ? undefined : { at, first, last };
}

it.each(stories.flatMap((story) => (['beforeCommit', 'afterCommit'] as const).map((lost) => ({ ...story, lost }))))(
  '[provisioner#223] given $flow, and an API server that dies at each write ($lost) and comes back, then nothing ends stuck, there is no second volume, and nothing is left',
  async ({ lost, ...story }) => {
    const wrong: unknown[] = [];
    let outages = 0;
    for (const awayMs of story.awayMs) {
      for (const afterMs of story.afterMs) {
        for (const [by, [finish, until]] of Object.entries(story.finishers)) {
          for (let write = 0; ; write++) {
            const end = await endOf(story, finish, { write, lost, awayMs, afterMs });
            if (end === undefined) break;
            outages++;
            const isRight = ends[until].some((wanted) => isDeepStrictEqual([end.first, end.last], [wanted, gone]));
            if (!isRight) wrong.push({ ...end, write, awayMs, afterMs, by });
          }
        }
      }
    }
    expect([wrong.slice(0, 3), wrong.length]).toEqual([[], 0]);
    expect(outages).toBeGreaterThanOrEqual(story.awayMs.length * story.afterMs.length * 2);
  },
  60_000,
);
