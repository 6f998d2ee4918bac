// SPDX-License-Identifier: Apache-2.0
/** What steps of many units, such as attachments, cost the programs under test. */
import { busyShareSince, processorTimes } from './machine-load.ts';
import type { Recording } from './measures.ts';
import { cpuSeconds } from './process-cost.ts';
import { isForVolumes, perUnit, untilQuiet } from './requests.ts';
import type { Sidecar, BenchEnvironment } from './environment.ts';
import type { Watching } from './watching.ts';

export interface Step {
  /** "attachment": the measures begin with it, and it is in the title of its table of requests. */
  readonly unit: string;
  readonly ask: (environment: BenchEnvironment, names: readonly string[]) => Promise<unknown>;
  /** The states that all have reached when the step is done. */
  readonly done: readonly string[];
  /** States with a rate of their own, from the beginning of the step: "bind created rate". */
  readonly also?: readonly string[];
}

export interface Steps {
  readonly names: readonly string[];
  readonly watch: Watching;
  readonly workers: readonly Worker[];
  readonly steps: readonly Step[];
}

export interface Worker {
  /** Precedes the names of its measures where several programs work together. Default: nothing does. */
  readonly name?: string;
  readonly sidecar: Sidecar;
}

const conflict = 409;

/** One after the other. Recorded are, as far as the table of the bench has them: rate, share of the processors, requests, conflicts, CPU time. */
export async function measureSteps(
  environment: BenchEnvironment,
  { names, watch, workers, steps }: Steps,
  to: Recording,
): Promise<void> {
  const record = (id: string, value: number): void => {
    if (to.wants(id)) to.record(id, value);
  };
  const cpuOf = (): readonly number[] => workers.map(({ sidecar: { process } }) => cpuSeconds(process.pid));
  for (const { unit, ask, done, also = [] } of steps) {
    const before = await untilQuiet(environment);
    const cpuBefore = cpuOf();
    const timesBefore = processorTimes();
    const startMs = environment.cluster.clock.monotonicMs();
    await ask(environment, names);
    for (const state of done) await watch.until(state, names);
    record(`${unit} busy`, busyShareSince(timesBefore) * 100);
    const rateOf = (states: readonly string[]): number =>
      (names.length / (Math.max(...states.flatMap((state) => watch.times(state, names))) - startMs)) * 1000;
    record(`${unit} rate`, rateOf(done));
    for (const state of also) record(`${unit} ${state} rate`, rateOf([state]));
    const requests = (await untilQuiet(environment)).slice(before.length);
    const cpuAfter = cpuOf();
    for (const [index, { name, sidecar }] of workers.entries()) {
      const [prefix, suffix] = name === undefined ? ['', ''] : [`${name} `, `, ${name}`];
      const all = requests.filter(({ user }) => user === sidecar.user);
      const own = all.filter(isForVolumes);
      to.count(`requests per ${unit}${suffix}`, perUnit(all, names.length));
      record(`${prefix}${unit} requests`, own.length / names.length);
      record(`${prefix}${unit} conflicts`, own.filter(({ code }) => code === conflict).length / names.length);
      const cpu = (cpuAfter[index] ?? NaN) - (cpuBefore[index] ?? NaN);
      record(`${prefix}${unit} cpu`, (cpu / names.length) * 1000);
    }
  }
}
