// SPDX-License-Identifier: Apache-2.0
/** Claims that are to be filled from objects of other kinds, and the populators of those kinds. No populator runs: such a claim stays Pending. */
import { volumePopulators } from '@csi-sidecars/data-source-validator';
import { persistentVolumeClaims } from '@csi-sidecars/runtime';
import { namespace } from '../names.ts';
import { kindOfSource, sourceKinds } from '../sources.ts';
import type { World } from '../world.ts';
import { answers } from './faults.ts';
import { kind, type Kinds } from './kind.ts';
import { afterwards } from './moments.ts';
import { podOf } from './more-faults.ts';
import { tried } from './users.ts';

const sourced = 6;
const populators = 3;
const changing = sourceKinds.filter(({ registered }) => registered === 'sometimes').map(({ kind: name }) => name);

function createClaim({ client }: World, claim: number, source: string): void {
  const { group, kind: sourceKind } = kindOfSource(source);
  const ref = { ...(group === '' ? {} : { apiGroup: group }), kind: sourceKind, name: 'origin' };
  void tried(
    client.create(persistentVolumeClaims, {
      metadata: { namespace, name: `sourced-${claim}` },
      spec: {
        storageClassName: 'fast',
        accessModes: ['ReadWriteOnce'],
        resources: { requests: { storage: '1Gi' } },
        dataSourceRef: ref,
      },
    }),
  );
}

function deleteClaim({ client }: World, claim: number): void {
  void tried(client.delete(persistentVolumeClaims, { namespace, name: `sourced-${claim}` }));
}

function register({ client }: World, populator: number, source: string): void {
  const { group, kind: sourceKind } = kindOfSource(source);
  void tried(
    client.create(volumePopulators, {
      apiVersion: 'populator.storage.k8s.io/v1beta1',
      kind: 'VolumePopulator',
      metadata: { name: `populator-${populator}` },
      sourceKind: { group, kind: sourceKind },
    }),
  );
}

function unregister({ client }: World, populator: number): void {
  void tried(client.delete(volumePopulators, { name: `populator-${populator}` }));
}

export const sourceKindsOfUsers: Kinds = {
  createSourced: kind({
    weight: 14,
    draw: (dice) => ({ claim: dice.below(sourced), source: dice.pick(sourceKinds).kind }),
    act: (world, { claim, source }) => createClaim(world, claim, source),
  }),
  deleteSourced: kind({
    weight: 5,
    when: 'late',
    draw: (dice) => ({ claim: dice.below(sourced) }),
    act: (world, { claim }) => deleteClaim(world, claim),
  }),
  /** It is made again at once, with another source. */
  sourcedIsMadeAgain: kind({
    weight: 5,
    draw: (dice) => ({
      claim: dice.below(sourced),
      source: dice.pick(sourceKinds).kind,
      next: dice.pick(sourceKinds).kind,
      ms: dice.pick([20, 800, 1_200]),
    }),
    act: (world, { claim, source, next, ms }) => {
      createClaim(world, claim, source);
      afterwards(world, ms, () => {
        deleteClaim(world, claim);
        afterwards(world, 50, () => createClaim(world, claim, next));
      });
    },
  }),
  /** The Warning on it meets a fault. */
  warningMeets: kind({
    weight: 7,
    draw: (dice) => ({
      claim: dice.below(sourced),
      source: dice.pick(['Tape', ...changing]),
      answer: dice.pick(['internal', 'lostBefore', 'lostAfter', 'timeoutAfter', 'hangsAfter', 'slower', 'twice']),
      times: 1 + dice.below(4),
    }),
    act: (world, { claim, source, answer, times }) => {
      world.network.open({
        untilMs: world.schedule.elapsedMs + 20_000,
        who: podOf(world, 'volume-data-source-validator'),
        what: 'create events',
        chance: 1,
        times,
        fault: answers[answer]!,
      });
      deleteClaim(world, claim);
      afterwards(world, 50, () => createClaim(world, claim, source));
    },
  }),
  register: kind({
    weight: 7,
    draw: (dice) => ({ populator: dice.below(populators), source: dice.pick(changing) }),
    act: (world, { populator, source }) => register(world, populator, source),
  }),
  unregister: kind({
    weight: 6,
    draw: (dice) => ({ populator: dice.below(populators) }),
    act: (world, { populator }) => unregister(world, populator),
  }),
  /** Around the second for which the validator waits. */
  registeredForAMoment: kind({
    weight: 4,
    draw: (dice) => ({
      claim: dice.below(sourced),
      populator: dice.below(populators),
      source: dice.pick(changing),
      ms: dice.pick([300, 990, 1_010]),
      forMs: dice.pick([20, 500, 3_000]),
    }),
    act: (world, { claim, populator, source, ms, forMs }) => {
      createClaim(world, claim, source);
      afterwards(world, ms, () => {
        register(world, populator, source);
        afterwards(world, forMs, () => unregister(world, populator));
      });
    },
  }),
  /** It registers another kind. */
  populatorChanges: kind({
    weight: 3,
    draw: (dice) => ({ populator: dice.below(populators), source: dice.pick(changing) }),
    act: ({ client }, { populator, source }) => {
      const { group, kind: sourceKind } = kindOfSource(source);
      const target = { resource: volumePopulators, ref: { name: `populator-${populator}` } };
      void tried(client.patch(target, { type: 'merge', body: { sourceKind: { group, kind: sourceKind } } }));
    },
  }),
};
