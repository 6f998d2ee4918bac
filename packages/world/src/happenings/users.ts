// SPDX-License-Identifier: Apache-2.0
/** What users do: claims, pods, snapshots and groups. Names are numbers, so that what is drawn later can be about what was drawn before. */
import {
  ApiError,
  type KubeObject,
  persistentVolumeClaims,
  type PersistentVolumeClaim,
  pods,
  type Resource,
} from '@csi-sidecars/runtime';
import { volumeGroupSnapshots, volumeSnapshots } from '@csi-sidecars/volume';
import { namespace } from '../names.ts';
import type { World } from '../world.ts';
import { kind, type Kinds } from './kind.ts';

export const claims = 8;
export const snapshots = 5;
const podsOfClaim = 2;

const claimName = (number: number): string => `claim-${number}`;
const snapshotName = (number: number): string => `snap-${number}`;

/** What a user is refused is the user's trouble. */
export async function tried(work: Promise<unknown>): Promise<void> {
  await work.catch((error: unknown) => {
    if (!(error instanceof ApiError)) throw error;
  });
}

function create<T extends KubeObject>(world: World, resource: Resource<T>, object: T): void {
  void tried(world.client.create(resource, object));
}

function deleteNamed(world: World, resource: Resource, name: string): void {
  void tried(world.client.delete(resource, { namespace, name }));
}

export function patchClaim(world: World, name: string, body: object): void {
  void tried(
    world.client.patch({ resource: persistentVolumeClaims, ref: { namespace, name } }, { type: 'merge', body }),
  );
}

function createClaim(world: World, name: string, spec: PersistentVolumeClaim['spec']): void {
  create(world, persistentVolumeClaims, {
    metadata: { namespace, name, labels: { app: 'db' } },
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } }, ...spec },
  });
}

export const userKinds: Kinds = {
  createClaim: kind({
    weight: 14,
    when: 'early',
    draw: (dice, { secondDriver }) => {
      const others = secondDriver ? ['plain', 'plain'] : [];
      const storageClass = dice.pick(['fast', 'fast', 'fast', 'late', 'late', 'kept', ...others]);
      const attributes = storageClass === 'plain' ? '' : dice.pick(['', '', '', 'gold']);
      return { claim: dice.below(claims), class: storageClass, attributes };
    },
    act: (world, args) =>
      createClaim(world, claimName(args.claim), {
        storageClassName: args.class,
        ...(args.attributes === '' ? {} : { volumeAttributesClassName: args.attributes }),
      }),
  }),
  restoreClaim: kind({
    weight: 3,
    draw: (dice) => ({ claim: dice.below(claims), snapshot: dice.below(snapshots) }),
    act: (world, { claim, snapshot }) =>
      createClaim(world, claimName(claim), {
        storageClassName: 'fast',
        resources: { requests: { storage: '6Gi' } },
        dataSource: {
          apiGroup: 'snapshot.storage.k8s.io',
          kind: 'VolumeSnapshot',
          name: snapshotName(snapshot),
        },
      }),
  }),
  cloneClaim: kind({
    weight: 2,
    draw: (dice) => ({
      claim: dice.below(claims),
      from: dice.below(claims),
      class: dice.pick(['fast', 'fast', 'late']),
    }),
    act: (world, { claim, from, class: storageClassName }) =>
      createClaim(world, claimName(claim), {
        storageClassName,
        resources: { requests: { storage: '6Gi' } },
        dataSource: { kind: 'PersistentVolumeClaim', name: claimName(from) },
      }),
  }),
  deleteClaim: kind({
    weight: 8,
    when: 'late',
    draw: (dice) => ({ claim: dice.below(claims) }),
    act: (world, { claim }) => deleteNamed(world, persistentVolumeClaims, claimName(claim)),
  }),
  growClaim: kind({
    weight: 6,
    draw: (dice) => ({ claim: dice.below(claims), gib: 2 + dice.below(4) }),
    act: (world, { claim, gib }) =>
      patchClaim(world, claimName(claim), { spec: { resources: { requests: { storage: `${gib}Gi` } } } }),
  }),
  modifyClaim: kind({
    weight: 3,
    draw: (dice) => ({ claim: dice.below(claims), class: dice.pick(['gold', 'silver']) }),
    act: (world, args) => patchClaim(world, claimName(args.claim), { spec: { volumeAttributesClassName: args.class } }),
  }),
  createPod: kind({
    weight: 10,
    when: 'early',
    draw: (dice) => ({ claim: dice.below(claims), pod: dice.below(podsOfClaim) }),
    act: (world, { claim, pod }) =>
      create(world, pods, {
        metadata: { namespace, name: `pod-${claim}-${pod}` },
        spec: {
          containers: [{ name: 'app', image: 'app' }],
          volumes: [{ name: 'data', persistentVolumeClaim: { claimName: claimName(claim) } }],
        },
      }),
  }),
  deletePod: kind({
    weight: 6,
    when: 'late',
    draw: (dice) => ({ claim: dice.below(claims), pod: dice.below(podsOfClaim) }),
    act: (world, { claim, pod }) => deleteNamed(world, pods, `pod-${claim}-${pod}`),
  }),
  createSnapshot: kind({
    weight: 7,
    draw: (dice) => ({
      snapshot: dice.below(snapshots),
      claim: dice.below(claims),
      class: dice.pick(['', '', '', 'kept']),
    }),
    act: (world, args) =>
      create(world, volumeSnapshots, {
        apiVersion: 'snapshot.storage.k8s.io/v1',
        kind: 'VolumeSnapshot',
        metadata: { namespace, name: snapshotName(args.snapshot) },
        spec: {
          source: { persistentVolumeClaimName: claimName(args.claim) },
          ...(args.class === '' ? {} : { volumeSnapshotClassName: args.class }),
        },
      }),
  }),
  deleteSnapshot: kind({
    weight: 5,
    when: 'late',
    draw: (dice) => ({ snapshot: dice.below(snapshots) }),
    act: (world, { snapshot }) => deleteNamed(world, volumeSnapshots, snapshotName(snapshot)),
  }),
  createGroup: kind({
    weight: 2,
    draw: () => ({}),
    act: (world) =>
      create(world, volumeGroupSnapshots, {
        apiVersion: 'groupsnapshot.storage.k8s.io/v1',
        kind: 'VolumeGroupSnapshot',
        metadata: { namespace, name: 'group' },
        spec: {
          volumeGroupSnapshotClassName: 'together',
          source: { selector: { matchExpressions: [{ key: 'app', operator: 'Exists' }] } },
        },
      }),
  }),
  deleteGroup: kind({
    weight: 1,
    when: 'late',
    draw: () => ({}),
    act: (world) => deleteNamed(world, volumeGroupSnapshots, 'group'),
  }),
};
