// SPDX-License-Identifier: Apache-2.0
/**
 * A random run: users create and delete claims, two replicas elect a leader, and for a few minutes faults happen at
 * random: failing writes and calls (including those of the election), slow and failing drivers, watches that end, a history
 * that is compacted, processes that die or are stopped. Then the faults end, and the invariants of a quiet system
 * are checked. Every other run has two zones, and claims that wait for a pod.
 *
 * At every step, in addition to `invariants.ts`: only the holder of the Lease begins a write or a call, and no two calls of
 * a process about one volume overlap.
 *
 * The seed decides everything, so a run can be repeated with its seed.
 */
import { persistentVolumes, pods, type Random } from '@csi-sidecars/runtime';
import { seededRandom } from '@csi-sidecars/runtime/testing';
import { addClass, createPod, lateBinding } from './flows.ts';
import { checkWhenQuiet, isProtected } from './invariants.ts';
import { keepReplica } from './replica.ts';
import { troublesOf } from './trouble.ts';
import { createSimulation, namespace } from './simulation.ts';

export interface RandomEnding {
  readonly breaches: readonly string[];
  /** Volumes without an object in the API that no open window explains. */
  readonly leaked: readonly string[];
  /**
   * The windows that the page documents: the claim was deleted with neither provisioning finalizer nor PersistentVolume, and a process that had
   * requested the volume died before it was recorded.
   */
  readonly admitted: readonly string[];
  readonly trace: readonly string[];
}

const troubleRate = 0.08;
const disruptionMs = 180_000;
const quietSteps = 11;
const stepLimit = 80;

export async function runRandom(seed: number): Promise<RandomEnding> {
  const random = seededRandom(seed);
  const zones = seed % 2 === 0 ? ['zone-east', 'zone-west'] : [];
  const simulation = createSimulation({ seed, zones });
  const { clock, sim, driver } = simulation;
  const trace: string[] = [];
  const note = (line: string): void => void trace.push(`${clock.monotonicMs()} ${line}`);
  addClass(simulation, zones.length === 0 ? {} : lateBinding);

  let isMayhem = true;
  let steps = 0;
  const orphaned = new Set<string>();
  const replicas = ['a', 'b'].map((name) =>
    keepReplica(simulation, {
      name,
      random: seededRandom(seed * 2 + name.charCodeAt(0)),
      note,
      onDeath: (requested) => {
        for (const volume of requested) if (!isRecorded(volume)) orphaned.add(volume);
      },
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
  while (clock.monotonicMs() < disruptionMs) {
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
  await simulation.stop();
  const defects = replicas.flatMap((replica) => replica.defects);
  const isAdmitted = (name: string): boolean => unprotected.has(name) && orphaned.has(name);
  const endless = unchanged < quietSteps ? ['work never ends'] : [];
  return {
    breaches: [...simulation.checks.breaches, ...breaches, ...defects, ...endless],
    leaked: leaked.filter((name) => !isAdmitted(name)),
    admitted: leaked.filter(isAdmitted),
    trace,
  };

  function isRecorded(volume: string): boolean {
    return sim.server.objects.get(persistentVolumes, { name: volume }) !== undefined;
  }

  /** The driver reports a lack of space only for a volume that was not requested before; otherwise its answer would be wrong. */
  function exhaust(): void {
    const asked = new Set(driver.calls.map(({ request }) => ('name' in request ? request.name : '')));
    const volume = [...uids.values()].map((uid) => `pvc-${uid}`).find((name) => !asked.has(name));
    if (volume === undefined) return;
    note(`no room for ${volume}`);
    driver.faults.add({
      method: 'CreateVolume',
      volume,
      times: 1,
      action: { kind: 'fail', code: 'ResourceExhausted' },
    });
  }

  async function act(): Promise<void> {
    const roll = random.next();
    const names = [...uids.keys()];
    if (roll < 0.4 && names.length < 5) {
      const name = `data-${next++}`;
      note(`create ${name}`);
      await simulation.createClaim(name);
      uids.set(name, simulation.claim(name)?.metadata?.uid ?? '');
      if (zones.length > 0) await createPod(simulation, name);
    } else if (roll < 0.6 && names.length > 0) {
      const name = names[Math.trunc(random.next() * names.length)] ?? '';
      const volume = `pvc-${uids.get(name)}`;
      note(`delete ${name} (${volume})`);
      uids.delete(name);
      const claim = simulation.claim(name);
      if (!(claim !== undefined && isProtected(claim)) && !isRecorded(volume)) unprotected.add(volume);
      await simulation.deleteClaim(name);
      if (zones.length > 0) await sim.client.delete(pods, { namespace, name });
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
      const code = pick(random, ['Aborted', 'Internal', 'Unavailable', 'DeadlineExceeded'] as const);
      // After the effect only ambiguous answers are possible: a final error would contradict the effect.
      const action = { kind: 'fail', code: at === 'before' ? code : 'DeadlineExceeded' } as const;
      note(`a call fails ${at} it is done: ${action.code}`);
      driver.faults.add({ at, times: 1, action });
    } else if (roll < 0.92) {
      exhaust();
    } else if (roll < 0.95) {
      pick(random, replicas).kill();
    } else if (roll < 0.98) {
      pick(random, replicas).askToStop();
    }
  }
}

function pick<T>(random: Random, choices: readonly T[]): T {
  const choice = choices[Math.trunc(random.next() * choices.length)];
  if (choice === undefined) throw new Error('nothing to choose from');
  return choice;
}
