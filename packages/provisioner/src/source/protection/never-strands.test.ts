// SPDX-License-Identifier: Apache-2.0
/**
 * Whatever drivers, API servers, users and processes do: a source is there and protected at every CreateVolume that needs it, and once
 * nothing happens any more, no finalizer of ours is left on a source, and a source that a user deleted is gone.
 */
import { type PersistentVolumeClaim, persistentVolumeClaims, persistentVolumes } from '@csi-sidecars/runtime';
import { volumeSnapshots } from '@csi-sidecars/volume';
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { aClaim, aClass, someSettings } from '../../../testing/builders.ts';
import { aProvisioner, type Fixture, type FixtureOptions } from '../../../testing/provisioner-fixture.ts';
import { untilQuiet } from '../../../testing/pv-controller.ts';
import {
  consistent,
  type Mode,
  playStep,
  storyClaims,
  storyStep,
  type StoryStep,
} from '../../../testing/random-stories.ts';
import { copying, fromClaim, fromSnapshot, prepareSources } from '../../../testing/sources.ts';
import { cloningProtection, snapshotSourceProtection } from '../../names.ts';

type SourceStep = StoryStep | { readonly kind: 'deleteSource' } | { readonly kind: 'watches' };

interface Kind {
  readonly finalizer: string;
  readonly spec: NonNullable<PersistentVolumeClaim['spec']>;
  /** The finalizers of the source; undefined if it is gone. */
  readonly finalizers: (p: Pick<Fixture, 'server'>) => readonly string[] | undefined;
  readonly remove: (p: Fixture) => void;
}

const snapshotRef = { namespace: 'team', name: 'daily' };
const originRef = { namespace: 'team', name: 'origin' };

const kinds: Readonly<Record<'snapshot' | 'clone', Kind>> = {
  snapshot: {
    finalizer: snapshotSourceProtection,
    spec: fromSnapshot,
    finalizers: ({ server }) => {
      const snapshot = server.objects.get(volumeSnapshots, snapshotRef);
      return snapshot && (snapshot.metadata?.finalizers ?? []);
    },
    remove: ({ server }) => {
      if (server.objects.get(volumeSnapshots, snapshotRef) !== undefined)
        server.objects.delete(volumeSnapshots, snapshotRef);
    },
  },
  clone: {
    finalizer: cloningProtection,
    spec: fromClaim,
    finalizers: ({ server }) => {
      const claim = server.objects.get(persistentVolumeClaims, originRef);
      return claim && (claim.metadata?.finalizers ?? []);
    },
    remove: ({ server }) => {
      if (server.objects.get(persistentVolumeClaims, originRef) !== undefined) {
        server.objects.delete(persistentVolumeClaims, originRef);
      }
    },
  },
};

/** An answer that leaves open whether there is a volume: the source is needed until a later answer settles it. */
const openAnswer: fc.Arbitrary<StoryStep> = fc.constantFrom('before' as const, 'after' as const).map((at) => ({
  kind: 'refuse' as const,
  method: 'CreateVolume',
  code: 'DeadlineExceeded' as const,
  at,
}));
const step: fc.Arbitrary<SourceStep> = fc.oneof(
  { weight: 4, arbitrary: storyStep },
  { weight: 3, arbitrary: openAnswer },
  { weight: 2, arbitrary: fc.constantFrom(...storyClaims).map((claim) => ({ kind: 'delete' as const, claim })) },
  { weight: 2, arbitrary: fc.constantFrom({ kind: 'deleteSource' as const }, { kind: 'crash' as const }) },
  { weight: 1, arbitrary: fc.constant({ kind: 'watches' as const }) },
);

interface Setting {
  readonly source: Kind;
  readonly mode: Mode;
  readonly fixture: Pick<FixtureOptions, 'settings' | 'interrupt'>;
}

async function take(p: Fixture, next: SourceStep, { source, mode, fixture }: Setting): Promise<Fixture> {
  if (next.kind === 'deleteSource' || next.kind === 'watches') {
    if (next.kind === 'watches') p.server.endWatches('broken');
    else source.remove(p);
    await p.settle();
    return p;
  }
  const isGone = next.kind === 'delete' && p.claim(next.claim) === undefined;
  return isGone ? p : await playStep(p, next, { mode, ...fixture });
}

it.each([
  ['snapshot', 'ambiguous'],
  ['snapshot', 'always'],
  ['clone', 'ambiguous'],
  ['clone', 'always'],
] as const)(
  'given claims from a %s, --provisioning-protection=%s and any sequence of failures, deletions and crashes, then the source is protected while it is needed, and free in the end',
  async (kind, mode) => {
    const source = kinds[kind];
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 16 }), async (drawn) => {
        const steps = storyOf(drawn);
        const unprotected: string[] = [];
        let p: Fixture | undefined;
        // A claim that was given up has let its source go; its call is repeated from memory all the same.
        const isGivenUp = (): boolean => p?.events.some((line) => line.includes('ProvisioningGivenUp')) === true;
        const fixture: Setting['fixture'] = {
          settings: { features: { ...someSettings().features, snapshotSweep: true } },
          interrupt: (operation, moment) => {
            if (p === undefined || moment !== 'before' || !operation.endsWith('CreateVolume') || isGivenUp())
              return undefined;
            const finalizers = source.finalizers(p);
            if (finalizers?.includes(source.finalizer) !== true)
              unprotected.push(`${operation}: ${String(finalizers)}`);
            return undefined;
          },
        };
        p = await aProvisioner({
          ...fixture,
          seed: [aClass()],
          controller: copying,
          settings: { ...fixture.settings, provisioningProtection: mode },
        });
        await prepareSources(p, { origin: { finalizers: [] } });
        const [early, late] = [steps.slice(0, 3), steps.slice(3)];
        for (const next of early.filter((each) => each.kind !== 'delete'))
          p = await take(p, next, { source, mode, fixture });
        for (const name of storyClaims) p.server.seed(aClaim({ name, spec: source.spec }));
        await p.settle();
        for (const next of late) p = await take(p, next, { source, mode, fixture });
        p.driver.faults.clear();
        p.faults.splice(0);
        await untilQuiet(p);
        await untilQuiet(p);
        expect(unprotected).toEqual([]);
        const left = source.finalizers(p);
        const isDeleted = steps.some((next) => next.kind === 'deleteSource');
        if (isDeleted) expect(left).toBeUndefined();
        // As upstream, a claim keeps the finalizer until it is deleted.
        else if (kind === 'snapshot') expect(left).toEqual([]);
        const recorded = p.server.objects.list(persistentVolumes).map(({ spec }) => spec?.csi?.volumeHandle);
        for (const { id } of p.driver.volumes()) expect(recorded).toContain(id);
        await p.stop();
        expect(p.clock.pending).toBe(0);
      }),
      { numRuns: 150, seed: 20_260_114 },
    );
  },
  120_000,
);

/** A permission that is missing leaves a restore unprotected, as with upstream. */
function storyOf(drawn: readonly SourceStep[]): readonly SourceStep[] {
  const others = drawn.filter((next) => next.kind === 'deleteSource' || next.kind === 'watches');
  const story = consistent(drawn.filter((next) => next.kind !== 'deleteSource' && next.kind !== 'watches'));
  const isPermitted = (next: SourceStep): boolean =>
    next.kind !== 'api' || next.fault.kind !== 'status' || next.fault.code !== 403;
  const kept = new Set<SourceStep>([...story, ...others]);
  return drawn.filter((next) => kept.has(next) && isPermitted(next));
}
