// SPDX-License-Identifier: Apache-2.0
/** Random stories: what drivers, API servers, users and processes do to claims, drawn by fast-check and played on a fixture. */
import type { FaultRule } from '@csi-sidecars/runtime/testing';
import * as fc from 'fast-check';
import { provisioningFinalizer } from '../src/names.ts';
import { driverName } from './builders.ts';
import { aProvisioner, type Fixture, type FixtureOptions } from './provisioner-fixture.ts';
import { playController } from './pv-controller.ts';

export type StoryStep =
  | {
      readonly kind: 'refuse';
      readonly method: string;
      readonly code: 'Internal' | 'DeadlineExceeded' | 'Aborted' | 'InvalidArgument' | 'ResourceExhausted';
      readonly at: 'before' | 'after';
    }
  | { readonly kind: 'slow'; readonly method: string; readonly ms: number; readonly at: 'before' | 'during' | 'after' }
  | { readonly kind: 'small' }
  | { readonly kind: 'api'; readonly verb: string; readonly fault: FaultRule['fault'] }
  | { readonly kind: 'wait'; readonly ms: number }
  | { readonly kind: 'delete'; readonly claim: string }
  | { readonly kind: 'restart' | 'crash' };

export const storyClaims: readonly string[] = ['a', 'b'];
const method = fc.constantFrom('CreateVolume', 'CreateVolume', 'DeleteVolume');
const refusals = [
  [409, 'Conflict'],
  [422, 'Invalid'],
  [403, 'Forbidden'],
  [500, 'InternalError'],
] as const;
const point = fc.constantFrom('before' as const, 'after' as const);
const apiFault: fc.Arbitrary<FaultRule['fault']> = fc.oneof(
  fc
    .record({ point, refusal: fc.constantFrom(...refusals) })
    .map(({ point: at, refusal: [code, reason] }) => ({ kind: 'status' as const, point: at, code, reason })),
  point.map((at) => ({ kind: 'break' as const, point: at, failure: 'reset' as const })),
);
export const storyStep: fc.Arbitrary<StoryStep> = fc.oneof(
  fc
    .record({
      kind: fc.constant('refuse' as const),
      method,
      code: fc.constantFrom('Internal', 'DeadlineExceeded', 'Aborted', 'InvalidArgument', 'ResourceExhausted'),
      // After the effect, a final error would hide the volume, so only ambiguous errors are generated then.
      at: fc.constantFrom('before' as const, 'after' as const),
    })
    .map((rule) =>
      rule.code === 'DeadlineExceeded' || rule.code === 'Aborted' || rule.method === 'DeleteVolume'
        ? rule
        : { ...rule, at: 'before' as const },
    ),
  fc.record({
    kind: fc.constant('slow' as const),
    method,
    ms: fc.constantFrom(500, 9_000, 12_000, 45_000),
    // Faults act once the driver holds its locks: a driver that begins a request after its caller has gone is outside the guarantees.
    at: fc.constantFrom('during' as const, 'after' as const),
  }),
  fc.constant({ kind: 'small' as const }),
  fc.record({
    kind: fc.constant('api' as const),
    verb: fc.constantFrom('create', 'update', 'patch', 'delete'),
    fault: apiFault,
  }),
  fc.record({ kind: fc.constant('wait' as const), ms: fc.integer({ min: 1, max: 30_000 }) }),
  fc.record({ kind: fc.constant('delete' as const), claim: fc.constantFrom(...storyClaims) }),
  fc.record({ kind: fc.constantFrom('restart' as const, 'crash' as const) }),
);

/**
 * A claim that vanishes while its first answer is open, or before the finalizer could be written, cannot be protected any more:
 * together with a restart, that is one of the windows that the page of the provisioner documents. With `always` there is none.
 */
function mayDelete(p: Fixture, name: string, mode: Mode): boolean {
  if (mode === 'always') return p.claim(name) !== undefined;
  const claim = p.claim(name);
  const isProtected = claim?.metadata?.finalizers?.includes(provisioningFinalizer(driverName)) === true;
  const wasCalled = p.requests('CreateVolume').some((request) => request['name'] === `pvc-uid-${name}`);
  return isProtected || claim?.status?.phase === 'Bound' || !wasCalled;
}

/** The next call of a method, or the next request with a verb, goes wrong. */
export function playFault(p: Fixture, next: Extract<StoryStep, { kind: 'refuse' | 'slow' | 'small' | 'api' }>): void {
  switch (next.kind) {
    case 'refuse':
      p.driver.faults.add({ method: next.method, at: next.at, times: 1, action: { kind: 'fail', code: next.code } });
      return;
    case 'slow':
      p.driver.faults.add({ method: next.method, at: next.at, times: 1, action: { kind: 'delay', ms: next.ms } });
      return;
    case 'small':
      p.driver.faults.add({
        method: 'CreateVolume',
        times: 1,
        action: { kind: 'answer', set: { volume: { capacity_bytes: '80' } } },
      });
      return;
    case 'api':
      p.faults.push({ when: ({ verb }) => verb === next.verb, fault: next.fault });
  }
}

export async function playStep(
  p: Fixture,
  next: StoryStep,
  { mode, ...fixture }: { readonly mode: Mode } & Pick<FixtureOptions, 'settings' | 'interrupt'>,
): Promise<Fixture> {
  const settings = { ...fixture.settings, provisioningProtection: mode };
  switch (next.kind) {
    case 'refuse':
    case 'slow':
    case 'small':
    case 'api':
      playFault(p, next);
      return p;
    case 'wait':
      await p.clock.advance(next.ms);
      playController(p);
      return p;
    case 'delete':
      if (mayDelete(p, next.claim, mode)) p.deleteClaim(next.claim);
      await p.settle();
      return p;
    case 'crash': {
      const { clock, server, driver } = p.crash();
      return await aProvisioner({ ...fixture, cluster: { clock, server, driver, faults: [] }, seed: [], settings });
    }
    case 'restart': {
      const { clock, server, driver } = p;
      const stopping = p.stop();
      await p.clock.advance(60_000);
      await stopping;
      return await aProvisioner({ ...fixture, cluster: { clock, server, driver, faults: [] }, seed: [], settings });
    }
  }
}

/** A driver does not refuse a request that it has executed before. */
export function consistent(steps: readonly StoryStep[]): readonly StoryStep[] {
  const mayHideVolume = steps.some((next) => next.kind === 'slow' || (next.kind === 'refuse' && next.at === 'after'));
  const isConclusive = (next: StoryStep): boolean =>
    next.kind === 'refuse' && (next.code === 'InvalidArgument' || next.code === 'ResourceExhausted');
  const likely = mayHideVolume ? steps.filter((next) => !isConclusive(next)) : steps;
  // The other window that the page documents: a crash during the deletion of a volume that was too small.
  return steps.some(({ kind }) => kind === 'crash') ? likely.filter(({ kind }) => kind !== 'small') : likely;
}

export type Mode = 'ambiguous' | 'always';
