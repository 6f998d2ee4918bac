// SPDX-License-Identifier: Apache-2.0
/**
 * Plays one story: the whole program of the controller, each of its replicas a process in virtual time, around an API server in memory.
 *
 * Objects whose owners are gone are deleted at once. Cached objects are frozen, and a run that throws ends the story.
 *
 * For five minutes users act, processes die and stand still, watches break and lag, and one in five requests and calls to services fails, is answered
 * late, or loses its answer (of the lease's one in 25, so that a process leads most of the time). Then nothing happens for ten minutes. What must hold
 * in the end has to hold then, and in another ten minutes nothing may be written any more but leases and events.
 */
import type { Transport, TransportRequest } from '../../src/api/transport.ts';
import { controllerAccess } from '../../src/program/controller-manifests.ts';
import type { Authenticate } from '../fake-api-server/access.ts';
import { commonTypes } from '../fake-api-server/common-types.ts';
import { createFakeApiServer, type FakeApiServer } from '../fake-api-server/server.ts';
import { type Fault, type FaultTarget, withFaults } from '../faults/faults.ts';
import type { Container } from '../world/container.ts';
import { createDice, type Dice } from '../world/dice.ts';
import { drawFrom } from '../world/hash.ts';
import { createLink } from '../world/link.ts';
import { createSchedule, type Schedule, type ScheduledProcess } from '../world/schedule.ts';
import { createTimeLine, type TimeLine } from '../world/time-line.ts';
import { createOutside } from './outside.ts';
import { startReplica, storyNamespace } from './replica.ts';
import { delayOf, faultChance, stormMs } from './storm.ts';
import { type Mishap, mishaps, type Step, type Stories, type StoryController, type StoryTime } from './story.ts';

const calmMs = 600_000;
const faultChanceOfLeases = 1 / 25;

const faults: readonly Fault[] = [
  { kind: 'break', point: 'before', failure: 'refused' },
  { kind: 'break', point: 'after', failure: 'reset' },
  { kind: 'status', point: 'before', code: 500, reason: 'InternalError' },
  { kind: 'status', point: 'after', code: 504, reason: 'Timeout' },
  { kind: 'status', point: 'before', code: 429, reason: 'TooManyRequests', retryAfter: '1' },
  { kind: 'status', point: 'before', code: 409, reason: 'Conflict' },
  { kind: 'delay', ms: 5_000 },
  { kind: 'lag', ms: 3_000 },
  { kind: 'hang', point: 'after' },
];

export interface Failure {
  readonly error: unknown;
  /** Who did what, in order. */
  readonly timeLine: string;
}

/** Resolves with what went wrong; undefined: nothing. */
export async function play(
  { seed, steps }: { readonly seed: number; readonly steps: readonly Step[] },
  stories: Stories,
): Promise<Failure | undefined> {
  const { controller, types = [], objects = [], always, acts, finally: atEnd, writesAtRest = false } = stories;
  const schedule = createSchedule({ seed });
  const draw = drawFrom(seed);
  const timeLine = createTimeLine(() => schedule.elapsedMs);
  const peer = schedule.process('API server');
  const isStorm = (): boolean => schedule.elapsedMs < stormMs;
  const outside = createOutside({ services: schedule.process('the outside'), draw, isStorm, note: timeLine.note });
  const declared = controller(outside(deadProcess(schedule)));
  const authenticate = accountOf(declared);
  const server = createFakeApiServer({
    clock: peer.clock,
    random: peer.random,
    types: [...commonTypes, ...types],
    ...(authenticate && { authenticate }),
  });
  for (const object of objects) server.seed(object);
  let requests = 0;

  function transport(process: ScheduledProcess): Transport {
    const codes = new WeakMap<TransportRequest, number>();
    const answering: Transport = async (request) => {
      const response = await server.transport(request);
      codes.set(request, response.status);
      return response;
    };
    const decide = ({ resource, request }: FaultTarget): Fault | undefined => {
      const at = requests++;
      const isHit = isStorm() && draw('fault', at) < (resource === 'leases' ? faultChanceOfLeases : faultChance);
      const fault = isHit ? faults[Math.floor(draw('which', at) * faults.length)] : undefined;
      // Replicas renew the lease every two seconds.
      if (resource !== 'leases') timeLine.note(process.name, () => lineOf(request, codes.get(request), fault));
      return fault;
    };
    const delayMs = (): number => delayOf(draw('delay', requests++));
    const faulty = withFaults(answering, { clock: peer.clock, decide });
    return createLink({ process, server: peer, transport: faulty, delayMs, watchLagMs: delayMs });
  }

  const onDeath = (name: string, why: string): void => timeLine.note(name, `ends: ${why}`);
  let defect: { readonly error: unknown } | undefined;
  const onDefect = (name: string, error: unknown): void => {
    timeLine.note(name, `a run has a defect: ${String(error)}`);
    defect ??= { error };
  };
  const count = stories.replicas ?? (declared.lease === undefined ? 1 : 2);
  const replicas = Array.from({ length: count }, (_, index) =>
    startReplica(`${declared.name}-${index}`, {
      process: schedule.process,
      transport,
      controller: (process) => controller(outside(process)),
      onDeath,
      onDecided: timeLine.note,
      onDefect,
    }),
  );
  let seen = server.revision();
  let answered = 0;
  const check = (): void => {
    if (defect !== undefined) throw defect.error;
    for (; answered < server.requests.length; answered += 1) {
      const { code, verb, path } = server.requests[answered]!;
      if (code === 403) throw new Error(`the rules of the controller do not allow ${verb} ${path}`);
    }
    if (server.revision() === seen) return;
    seen = server.revision();
    collectGarbage(server);
    settled('`always`', always?.(server.objects, time()));
  };
  const time = (): StoryTime => ({ nowMs: peer.clock.nowMs() });
  const checkEnd = (): void => settled('`finally`', atEnd(server.objects, time()));

  try {
    for (const { atMs, what, seed: own } of steps) {
      await schedule.advanceTo(atMs, check);
      let detail = '';
      timeLine.note('the story', () => what + detail);
      const dice = createDice(own);
      const act = acts[what];
      if (act === undefined) strike(what as Mishap, { dice, replicas, server, note: timeLine.note });
      else {
        const said = settled(`the act \`${what}\``, act(server.objects, dice, time()));
        if (typeof said === 'string') detail = `: ${said}`;
      }
      check();
    }
    await schedule.advanceTo(stormMs + calmMs, check);
    checkEnd();
    const before = lastingWrites(server).length;
    await schedule.advanceTo(stormMs + 2 * calmMs, check);
    checkEnd();
    const [still] = lastingWrites(server).slice(before);
    if (still !== undefined && !writesAtRest)
      throw new Error(`it still writes when nothing happens any more: ${still.verb} ${still.path}`);
    return undefined;
  } catch (error) {
    return { error, timeLine: timeLine.text() };
  } finally {
    for (const { process } of replicas) process()?.kill('the end of the story');
  }
}

/** What a function of the author returned. A promise would be late, and what it rejects with unseen. */
function settled<T>(what: string, returned: T): T {
  if (!(returned instanceof Promise)) return returned;
  returned.catch(() => undefined);
  throw new Error(`${what} returns a promise, and a story waits for none`);
}

/** What the server answered, and what became of that on the way. */
function lineOf({ method, path }: TransportRequest, code: number | undefined, fault: Fault | undefined): string {
  const answered = code === undefined ? [] : [code];
  return [`${method} ${path}`, ...answered, ...(fault === undefined ? [] : [JSON.stringify(fault)])].join(': ');
}

/** Its calls do nothing. */
function deadProcess(schedule: Schedule): ScheduledProcess {
  const process = schedule.process('none');
  process.kill('it never ran');
  return process;
}

/** Undefined: everything is allowed. */
function accountOf(controller: StoryController): Authenticate | undefined {
  if (controller.rules === undefined) return undefined;
  const { everywhere, inNamespaces } = controllerAccess(controller, storyNamespace);
  const placed = [...inNamespaces].flatMap(([namespace, rules]) => rules.map((rule) => ({ ...rule, namespace })));
  return () => ({ user: controller.name, rules: [...everywhere, ...placed] });
}

/** Deletes what only has owners that are gone, as kube-controller-manager does. */
function collectGarbage({ objects, types }: FakeApiServer): void {
  const all = types().flatMap((type) => objects.list(type).map((object) => ({ type, object })));
  const uids = new Set(all.map(({ object }) => object.metadata?.uid));
  for (const { type, object } of all) {
    const { namespace, name = '', deletionTimestamp, ownerReferences: owners = [] } = object.metadata ?? {};
    if (owners.length === 0 || deletionTimestamp !== undefined || owners.some(({ uid }) => uids.has(uid))) continue;
    objects.delete(type, { namespace, name });
  }
}

interface Struck {
  readonly dice: Dice;
  readonly replicas: readonly Container[];
  readonly server: FakeApiServer;
  readonly note: TimeLine['note'];
}

function strike(what: Mishap, { dice, replicas, server, note }: Struck): void {
  const replica = dice.pick(replicas);
  const process = replica.process();
  switch (what) {
    case mishaps.killed:
      return process?.kill('SIGKILL');
    case mishaps.stopped:
      if (process !== undefined) note(process.name, 'gets SIGTERM');
      return replica.restart();
    case mishaps.frozen: {
      const ms = 1_000 + dice.below(40_000);
      if (process !== undefined) note(process.name, `stands still for ${ms} ms`);
      return process?.suspend(ms);
    }
    case mishaps.broken:
      return server.endWatches('broken');
    case mishaps.compacted:
      return server.compact();
  }
}

/** A lease is renewed for ever, and an event may be repeated. */
function lastingWrites(server: FakeApiServer) {
  return server.writes().filter(({ resource }) => resource !== 'leases' && resource !== 'events');
}
