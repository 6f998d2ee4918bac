// SPDX-License-Identifier: Apache-2.0
/**
 * Elections of three candidates under faults, drawn from a seed: requests and answers get lost, processes are suspended, killed
 * and started again. Whatever happens, no two of them work at the same time; and when the faults end, one of them works.
 */
import { expect, it } from 'vitest';
import { seededRandom } from '../../testing/index.ts';
import type { Lease } from '../api/objects.ts';
import { toElectionConfig, type ElectionConfig } from './election-config.ts';
import type { Effect, ElectionState, Input, LeaseAnswer, LeaseRequest, Step } from './election-state.ts';
import { holderOf } from './record.ts';
import { beginStandby } from './standby.ts';
import { step } from './step.ts';

const faultsEndMs = 600_000;
const endMs = faultsEndMs + 60_000;

interface Process {
  readonly config: ElectionConfig;
  state: ElectionState;
  /** The request whose answer is awaited. */
  flight: object | undefined;
  wake: object | undefined;
  watching: boolean;
  working: boolean;
  suspendedUntilMs: number;
  killed: boolean;
}

function simulate(seed: number): {
  readonly overlaps: readonly string[];
  readonly workers: number;
  readonly terms: number;
} {
  const random = seededRandom(seed);
  const chance = (p: number): boolean => nowMs < faultsEndMs && random.next() < p;
  const between = (from: number, to: number): number => from + random.next() * (to - from);
  const events: { readonly atMs: number; readonly run: () => void }[] = [];
  const overlaps: string[] = [];
  const processes: Process[] = [];
  let nowMs = 0;
  let terms = 0;
  let version = 0;
  let stored: Lease | undefined;

  const at = (atMs: number, run: () => void): void => {
    const event = { atMs, run };
    const later = events.findLastIndex((other) => other.atMs <= atMs);
    events.splice(later + 1, 0, event);
  };
  const turnOf = ({ config }: Process) => ({ config, nowMs, wallMs: 1e12 + nowMs, random: random.next() });

  function serve(request: LeaseRequest): LeaseAnswer {
    if (request.kind === 'get') {
      return stored === undefined ? { kind: 'missing', error: 404 } : { kind: 'ok', lease: stored };
    }
    if (request.kind === 'create' && stored !== undefined) return { kind: 'failed', error: 409 };
    const { resourceVersion } = request.lease.metadata ?? {};
    if (request.kind === 'update' && resourceVersion !== stored?.metadata?.resourceVersion) {
      return { kind: 'conflict', error: 409 };
    }
    version += 1;
    stored = { ...request.lease, metadata: { ...request.lease.metadata, resourceVersion: String(version) } };
    const lease = stored;
    for (const process of processes) {
      if (process.watching)
        at(nowMs + between(1, 300), () => deliver(process, { kind: 'change', change: { kind: 'seen', lease } }));
    }
    return { kind: 'ok', lease };
  }

  function send(process: Process, { request, timeoutMs }: Extract<Effect, { kind: 'send' }>): void {
    const flight = (process.flight = {});
    const answer = (result: LeaseAnswer): void => {
      if (process.flight !== flight) return;
      process.flight = undefined;
      deliver(process, { kind: 'answer', answer: result });
    };
    at(nowMs + timeoutMs, () => answer({ kind: 'failed', error: 'timeout' }));
    if (chance(0.15)) return;
    at(nowMs + between(1, chance(0.1) ? 9000 : 300), () => {
      const result = serve(request);
      if (!chance(0.15)) at(nowMs + between(1, 300), () => answer(result));
    });
  }

  function perform(process: Process, effect: Effect): void {
    if (effect.kind === 'send') send(process, effect);
    if (
      effect.kind === 'notify' &&
      effect.notice.kind === 'stoppedLeading' &&
      effect.notice.because === 'sameIdentity'
    ) {
      overlaps.push(`${nowMs}: ${process.config.identity} did not recognise its own record`);
    }
    if (effect.kind === 'cancel') process.flight = undefined;
    if (effect.kind === 'watch') {
      process.watching = effect.to !== 'closed' && !chance(0.3);
      if (process.watching) deliver(process, { kind: 'change', change: { kind: 'opened' } });
    }
    if (effect.kind === 'startWork') {
      process.working = true;
      terms += 1;
      if (chance(0.3)) at(nowMs + between(0, 30_000), () => deliver(process, { kind: 'stop' }));
    }
    if (effect.kind === 'endWork' && effect.because === 'lost') process.working = false;
    if (effect.kind === 'endWork' && effect.because === 'stopped') {
      at(nowMs + between(0, 20_000), () => {
        process.working = false;
        deliver(process, { kind: 'workEnded' });
      });
    }
  }

  /** A suspended process receives everything when it resumes, and its timers run before the answers. */
  function deliver(process: Process, input: Input): void {
    if (process.killed) return;
    if (process.suspendedUntilMs > nowMs) {
      at(process.suspendedUntilMs, () => deliver(process, input));
      return;
    }
    enter(process, step(turnOf(process), process.state, input));
  }

  function enter(process: Process, next: Step): void {
    process.state = next.state;
    const wake = (process.wake = {});
    const { wakeAtMs } = next.state.kind === 'ended' ? {} : next.state;
    if (wakeAtMs !== undefined) {
      at(Math.max(wakeAtMs, nowMs), () => process.wake === wake && deliver(process, { kind: 'wake' }));
    }
    for (const effect of next.effects) perform(process, effect);
    if (next.state.kind === 'ended') restart(process);
  }

  function restart(process: Process): void {
    if (process.killed) return;
    process.killed = true;
    process.working = false;
    at(nowMs + between(100, 5000), () => begin(process.config));
  }

  function begin(config: ElectionConfig): void {
    const process: Process = {
      config,
      state: { kind: 'ended', result: 'stopped' },
      flight: undefined,
      wake: undefined,
      watching: false,
      working: false,
      suspendedUntilMs: 0,
      killed: false,
    };
    processes.splice(0, processes.length, ...processes.filter((each) => !each.killed), process);
    enter(process, beginStandby(turnOf(process)));
  }

  function disturb(): void {
    const process = processes[Math.floor(random.next() * processes.length)];
    const isAwake = process !== undefined && process.suspendedUntilMs <= nowMs;
    if (isAwake && chance(0.5)) process.suspendedUntilMs = nowMs + between(100, 40_000);
    else if (isAwake && chance(0.3)) restart(process);
    if (nowMs < faultsEndMs) at(nowMs + between(1000, 20_000), disturb);
  }

  for (const identity of ['a', 'b', 'c']) {
    begin(toElectionConfig({ namespace: 'ns', name: 'lease', identity, releaseOnExit: identity !== 'c' }));
  }
  at(1000, disturb);
  for (let event = events.shift(); event !== undefined && event.atMs <= endMs; event = events.shift()) {
    nowMs = event.atMs;
    event.run();
    if (events[0]?.atMs === nowMs) continue;
    const awake = processes.filter(({ working, suspendedUntilMs }) => working && suspendedUntilMs <= nowMs);
    if (awake.length > 1) overlaps.push(`${nowMs}: ${awake.map(({ config }) => config.identity).join(' and ')}`);
  }
  const working = processes.filter((process) => process.working);
  expect(working.map(({ config }) => config.identity)).toEqual(stored === undefined ? [] : [holderOf(stored)]);
  return { overlaps, workers: working.length, terms };
}

it('given any faults, then no two candidates work at the same time, and one works when the faults are over', () => {
  let terms = 0;
  for (let seed = 1; seed <= 200; seed += 1) {
    const { overlaps, workers, terms: own } = simulate(seed);
    expect({ seed, overlaps, workers }).toEqual({ seed, overlaps: [], workers: 1 });
    terms += own;
  }
  // Leadership must have moved often, or the faults would prove nothing.
  expect(terms).toBeGreaterThan(1000);
});
