// SPDX-License-Identifier: Apache-2.0
/**
 * A random story: users create and delete claims, two replicas elect a leader, and for a few minutes everything goes wrong at
 * random: troubles at writes and calls (those of the election included), slow and failing drivers, watches that end, a history
 * that is forgotten, processes that die. Then all is well again, and what must hold when things are quiet is checked.
 *
 * The seed decides everything, so a seed is a story that can be told again.
 */
import { createLeaderElector, persistentVolumes, silentLogger, type Random } from '@csi-sidecars/runtime';
import { seededRandom } from '@csi-sidecars/runtime/testing';
import { addClass } from './flows.ts';
import { checkWhenQuiet, claimGuard } from './invariants.ts';
import { startProcess, type ProvisionerProcess } from './provisioner-process.ts';
import { troublesOf, type Operation, type Trouble } from './trouble.ts';
import { createWorld, namespace, type World } from './world.ts';

export interface RandomEnding {
  readonly breaches: readonly string[];
  /** Volumes that nothing leads to although no open window explains it. */
  readonly leaked: readonly string[];
  /** Of claims that were deleted with neither guard nor PersistentVolume: the windows that the page admits. */
  readonly admitted: readonly string[];
  readonly trace: readonly string[];
}

const troubleRate = 0.08;
const mayhemMs = 180_000;
const quietSteps = 11;
const stepLimit = 80;

export async function runRandom(seed: number): Promise<RandomEnding> {
  const random = seededRandom(seed);
  const world = createWorld({ seed });
  const { clock, sim, driver } = world;
  const trace: string[] = [];
  const note = (line: string): void => void trace.push(`${clock.monotonicMs()} ${line}`);
  addClass(world);

  let isMayhem = true;
  let steps = 0;
  const replicas = ['a', 'b'].map((name) =>
    keepReplica(world, {
      name,
      random: seededRandom(seed * 2 + name.charCodeAt(0)),
      note,
      decide: (operation) => {
        if (!operation.name.endsWith(' leases')) steps += 1;
        if (!isMayhem || random.next() >= troubleRate) return undefined;
        return pick(random, troublesOf(operation));
      },
    }),
  );

  const uids = new Map<string, string>();
  const unprotected = new Set<string>();
  let next = 0;
  while (clock.monotonicMs() < mayhemMs) {
    await act();
    await clock.advance(random.next() * 12_000);
  }
  isMayhem = false;
  note('all is well');

  let unchanged = 0;
  for (let step = 0; step < stepLimit && unchanged < quietSteps; step++) {
    const before = steps;
    await clock.advance(30_000);
    unchanged = steps === before ? unchanged + 1 : 0;
  }
  const { leaked, breaches } = checkWhenQuiet({ server: sim.server, driver });
  for (const replica of replicas) replica.stop();
  await world.stop();
  const defects = replicas.flatMap((replica) => replica.defects);
  const endless = unchanged < quietSteps ? ['work never ends'] : [];
  return {
    breaches: [...world.checks.breaches, ...breaches, ...defects, ...endless],
    leaked: leaked.filter((name) => !unprotected.has(name)),
    admitted: leaked.filter((name) => unprotected.has(name)),
    trace,
  };

  async function act(): Promise<void> {
    const roll = random.next();
    const names = [...uids.keys()];
    if (roll < 0.4 && names.length < 5) {
      const name = `data-${next++}`;
      note(`create ${name}`);
      await world.createClaim(name);
      uids.set(name, world.claim(name)?.metadata?.uid ?? '');
    } else if (roll < 0.6 && names.length > 0) {
      const name = names[Math.trunc(random.next() * names.length)] ?? '';
      const volume = `pvc-${uids.get(name)}`;
      note(`delete ${name} (${volume})`);
      uids.delete(name);
      const isGuarded = world.claim(name)?.metadata?.finalizers?.includes(claimGuard) === true;
      const isRecorded = sim.server.objects.get(persistentVolumes, { name: volume }) !== undefined;
      if (!isGuarded && !isRecorded) unprotected.add(volume);
      await world.deleteClaim(name);
    } else if (roll < 0.7) {
      note('watches end');
      sim.server.endWatches(random.next() < 0.5 ? 'clean' : 'broken');
      if (random.next() < 0.5) sim.server.compact();
    } else if (roll < 0.8) {
      const ms = Math.trunc(random.next() * 25_000);
      note(`a call takes ${ms} ms`);
      driver.faults.add({ at: 'during', times: 1, action: { kind: 'delay', ms } });
    } else if (roll < 0.9) {
      const at = random.next() < 0.5 ? 'before' : 'after';
      const code = pick(random, [
        'Aborted',
        'Internal',
        'Unavailable',
        'DeadlineExceeded',
        'ResourceExhausted',
      ] as const);
      // After the commit only answers that leave the outcome open: a driver that says no must not have said yes.
      const action = { kind: 'fail', code: at === 'before' ? code : 'DeadlineExceeded' } as const;
      note(`a call fails ${at} it is done: ${action.code}`);
      driver.faults.add({ at, times: 1, action });
    } else if (roll < 0.95) {
      replicas[Math.trunc(random.next() * replicas.length)]?.kill();
    }
  }
}

function pick<T>(random: Random, choices: readonly T[]): T {
  const choice = choices[Math.trunc(random.next() * choices.length)];
  if (choice === undefined) throw new Error('nothing to choose from');
  return choice;
}

interface ReplicaOptions {
  readonly name: string;
  readonly random: Random;
  readonly note: (line: string) => void;
  readonly decide: (operation: Operation) => readonly [string, Trouble] | undefined;
}

interface Replica {
  readonly defects: readonly string[];
  kill(): void;
  stop(): void;
}

/** A container that is restarted: each of its processes is another candidate. */
function keepReplica(world: World, { name, random, note, decide }: ReplicaOptions): Replica {
  const { clock } = world;
  const defects: string[] = [];
  let current: ProvisionerProcess | undefined;
  let isOver = false;

  function start(): void {
    if (isOver) return;
    if (!world.isDriverUp) return later();
    const process = startProcess({
      clock,
      random,
      transport: world.sim.server.transport,
      driver: world.driver,
      onOperation: (operation, details) => {
        if (operation.name === 'DeleteVolume') world.checks.beforeDeleteVolume(String(details['volume_id']));
        const decided = decide(operation);
        const what = [details['name'], details['volume_id'], details['volume']].find(
          (each) => typeof each === 'string',
        );
        note(`${name} ${operation.name} ${what ?? ''}${decided === undefined ? '' : ` <- ${decided[0]}`}`);
        return decided?.[1];
      },
      faultAt: world.faultAt,
      afterOperation: () => world.checks.afterStep(),
      crashDriver: () => {
        note('the driver dies');
        world.crashDriver();
      },
    });
    current = process;
    process.death.addEventListener('abort', () => {
      note(`${name} dies: ${String(process.death.reason)}`);
      later();
    });
    const elector = createLeaderElector(
      { client: process.client, clock, random, logger: silentLogger },
      { namespace, name: 'provisioner', identity: `${name}-${random.uuid()}` },
    );
    elector
      .run(process.death, (signal, gate) => process.work(signal, gate))
      .then(
        (result) => process.kill(`election: ${result}`),
        (error: unknown) => {
          if (!process.death.aborted) defects.push(`${name} ended: ${String(error)}`);
          process.kill('defect');
        },
      );
  }
  function later(): void {
    clock.timer(1000, start);
  }
  start();
  return {
    defects,
    kill: () => current?.kill('killed'),
    stop: () => {
      isOver = true;
      current?.kill('the simulation ends');
    },
  };
}
