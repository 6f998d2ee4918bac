// SPDX-License-Identifier: Apache-2.0
/**
 * The API server dies at the answer to each write of each flow, once before and once after its commit, and is away for a while. Soon after
 * its return csi-snapshotter goes on with the contents, or a user deletes what the flow is about. In the end nothing is stuck, and a
 * deletion leaves nothing behind.
 */
import type { KubeObject, Resource } from '@csi-sidecars/runtime';
import { persistentVolumeClaims } from '@csi-sidecars/runtime';
import { addOutage, type OutageOptions } from '@csi-sidecars/test-driver/testing';
import {
  snapshotAnnotations,
  snapshotFinalizers as finalizers,
  volumeGroupSnapshotContents,
  volumeGroupSnapshots,
  volumeSnapshotContents,
  volumeSnapshots,
} from '@csi-sidecars/volume';
import { expect, it } from 'vitest';
import {
  aClaim,
  aClass,
  aGroup,
  aGroupClass,
  aSnapshot,
  aStaticContent,
  aStaticGroup,
  aStaticGroupContent,
  aStaticSnapshot,
  aVolume,
} from '../testing/builders.ts';
import { aController, type Fixture } from '../testing/controller-fixture.ts';

/** csi-snapshotter as far as the flows need it: it cuts what is not cut, and lets go what is marked and being deleted. */
function playSidecar({ server }: Fixture): void {
  const kinds = [
    { resource: volumeSnapshotContents, mark: snapshotAnnotations.beingDeleted, finalizer: finalizers.content },
    {
      resource: volumeGroupSnapshotContents,
      mark: snapshotAnnotations.groupBeingDeleted,
      finalizer: finalizers.groupContent,
    },
  ] as const;
  for (const { resource, mark, finalizer } of kinds) {
    for (const content of server.objects.list<Content>(resource as unknown as Resource<Content>)) {
      const { name = '', deletionTimestamp, annotations, finalizers: held } = content.metadata ?? {};
      const change = (how: (known: Content) => Content): void =>
        void server.objects.change(resource as unknown as Resource<Content>, { name }, how);
      if (deletionTimestamp !== undefined) {
        if (annotations?.[mark] !== undefined && held?.includes(finalizer) === true) {
          server.objects.remove(resource, { name });
        }
      } else if (content.status?.readyToUse !== true && isBound(content)) change(cut);
    }
  }
}

interface Content extends KubeObject {
  readonly spec?: {
    readonly volumeSnapshotRef?: { readonly uid?: string };
    readonly volumeGroupSnapshotRef?: { readonly uid?: string };
    readonly source?: { readonly volumeHandles?: readonly string[] };
  };
  readonly status?: { readonly readyToUse?: boolean };
}

function isBound({ spec }: Content): boolean {
  return ((spec?.volumeSnapshotRef ?? spec?.volumeGroupSnapshotRef)?.uid ?? '') !== '';
}

function cut(content: Content): Content {
  const { volumeGroupSnapshotRef, source } = content.spec ?? {};
  const grouped = {
    volumeGroupSnapshotHandle: 'g1',
    volumeSnapshotInfoList: (source?.volumeHandles ?? []).map((volumeHandle) => ({
      volumeHandle,
      snapshotHandle: `of-${volumeHandle}`,
      readyToUse: true,
    })),
  };
  const status = { readyToUse: true, ...(volumeGroupSnapshotRef === undefined ? { snapshotHandle: 's1' } : grouped) };
  return { ...content, status };
}

interface Story {
  readonly flow: string;
  readonly seed: readonly KubeObject[];
  readonly wanted: KubeObject;
  /** Contents that stay after a deletion. */
  readonly retained: readonly string[];
  /** Contents that stay after an early deletion, because they were not bound yet. */
  readonly unbound?: readonly string[];
}

const labels = { app: 'db' };
const log = aClaim({ name: 'log', metadata: { labels }, spec: { volumeName: 'pv2' } });
const stories: readonly Story[] = [
  { flow: 'a dynamic snapshot', seed: [aClaim(), aVolume(), aClass()], wanted: aSnapshot(), retained: [] },
  {
    flow: 'a dynamic snapshot that is retained',
    seed: [aClaim(), aVolume(), aClass('gold', { deletionPolicy: 'Retain' })],
    wanted: aSnapshot(),
    retained: ['snapcontent-uid-of-snap'],
  },
  {
    flow: 'a static snapshot',
    seed: [aStaticContent()],
    wanted: aStaticSnapshot(),
    retained: [],
    unbound: ['content'],
  },
  {
    flow: 'a group of two',
    seed: [
      aClaim({ metadata: { labels } }),
      aVolume(),
      log,
      aVolume({ name: 'pv2', claim: log, handle: 'handle-2' }),
      aGroupClass(),
    ],
    wanted: aGroup(),
    retained: [],
  },
  {
    flow: 'a static group',
    seed: [aGroupClass(), aStaticGroupContent()],
    wanted: aStaticGroup(),
    retained: [],
    unbound: ['content'],
  },
];

interface End {
  readonly write: string;
  readonly isReady: boolean;
  readonly left: readonly string[];
}

const everything: readonly Resource[] = [
  volumeSnapshots,
  volumeSnapshotContents,
  volumeGroupSnapshots,
  volumeGroupSnapshotContents,
];

/** Undefined: the flow has fewer writes. */
async function endOf(
  { seed, wanted }: Story,
  { isDeletedAtReturn, ...options }: OutageOptions & { readonly isDeletedAtReturn: boolean },
): Promise<End | undefined> {
  const it = await aController({ seed });
  let isBack = false;
  const { namespace, name = '' } = wanted.metadata ?? {};
  const resource = (wanted.kind === 'VolumeSnapshot' ? volumeSnapshots : volumeGroupSnapshots) as unknown as Resource;
  const current = (): Content | undefined => it.get(resource, { namespace, name });
  const remove = (): void => {
    if (current() !== undefined) it.server.objects.delete(resource, { namespace, name });
  };
  const happens = (): void => {
    isBack = true;
    if (isDeletedAtReturn) remove();
  };
  const death = addOutage(it, { ...options, back: (options.back ?? []).map((each) => ({ ...each, happens })) });
  const tick = (): void => {
    if (death.write() === undefined || isBack) playSidecar(it);
    it.clock.timer(1_000, tick);
  };
  tick();
  it.server.seed(wanted);
  await it.clock.advance(200_000);
  const isReady = current()?.status?.readyToUse === true;
  remove();
  await it.clock.advance(400_000);
  const left = everything.flatMap((kind) =>
    it.server.objects
      .list(kind)
      .map(({ metadata: { name: left = '', deletionTimestamp } = {} }) =>
        deletionTimestamp === undefined ? left : `${left} that is being deleted`,
      ),
  );
  const claims = it.server.objects
    .list(persistentVolumeClaims)
    .filter(({ metadata }) => metadata?.finalizers?.includes(finalizers.claim) === true)
    .map(({ metadata }) => `finalizer on claim ${metadata?.name}`);
  const write = death.write();
  await it.stop();
  return write === undefined ? undefined : { write, isReady, left: [...left, ...claims] };
}

it.each(stories.flatMap((story) => (['beforeCommit', 'afterCommit'] as const).map((lost) => ({ ...story, lost }))))(
  '[snapshot-controller#181] given $flow, and an API server that dies at each write ($lost) and comes back, then nothing ends stuck, and nothing is left behind',
  async ({ lost, ...story }) => {
    const wrong: unknown[] = [];
    let outages = 0;
    for (const [awayMs, afterMs] of [
      [500, 100],
      [2_000, 1_000],
      [10_000, 5_000],
      [30_000, 100],
      [30_000, 5_000],
    ] as const) {
      for (const isDeletedAtReturn of [false, true]) {
        for (let write = 0; ; write++) {
          const back = [{ afterMs, happens: () => undefined }];
          const end = await endOf(story, { write, lost, awayMs, back, isDeletedAtReturn });
          if (end === undefined) break;
          outages++;
          const mayStay = isDeletedAtReturn ? [...story.retained, ...(story.unbound ?? [])] : story.retained;
          const isWhole = isDeletedAtReturn || (end.isReady && story.retained.every((name) => end.left.includes(name)));
          if (!isWhole || end.left.some((name) => !mayStay.includes(name))) {
            wrong.push({ ...end, number: write, awayMs, afterMs, isDeletedAtReturn });
          }
        }
      }
    }
    expect([wrong.slice(0, 3), wrong.length]).toEqual([[], 0]);
    expect(outages).toBeGreaterThanOrEqual(40);
  },
  120_000,
);
