// SPDX-License-Identifier: Apache-2.0
/**
 * `npm run bench -- all-in-one`: the combined program beside our own separate programs and upstream's, on one control plane, one after the
 * other. Prints a table and rewrites its section of bench/README.md; asserts nothing.
 */
import { cpus } from 'node:os';
import { describe, Interrupted, onInterrupt, rightOf } from '@csi-sidecars/e2e';
import { rewriteSection } from '../page.ts';
import { type BenchCluster, openBenchCluster } from '../side-by-side/bench-cluster.ts';
import { createForeignObjects } from '../side-by-side/foreign-objects.ts';
import { median } from '../side-by-side/measures.ts';
import { type Options, parseOptions, usageOf } from '../side-by-side/options.ts';
import { cpuSeconds, memoryOf } from '../side-by-side/process-cost.ts';
import { show } from '../side-by-side/report.ts';
import { openTestBed, type Sidecar, type TestBed } from '../side-by-side/test-bed.ts';
import { findMakes, type Make, type MakeName } from './makes.ts';
import { type MeasureId, measures } from './measures.ts';
import { clear, driverFlags, perform, prepare, works } from './work.ts';

const choice = {
  name: 'all-in-one',
  load: { flag: 'objects', title: 'objects of each kind at once' },
  parts: ['work', 'foreign'],
} as const;

type Recorder = (make: MakeName, id: MeasureId, value: number) => void;

process.exitCode = await run();

async function run(): Promise<number> {
  let options: Options;
  try {
    options = parseOptions(process.argv.slice(2), choice);
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n${usageOf(choice)}`);
    return 2;
  }
  try {
    await measureAll(options);
    return 0;
  } catch (error) {
    if (error instanceof Interrupted) return 130;
    process.stderr.write(`${describe(error)}\n`);
    return 1;
  }
}

async function measureAll(options: Options): Promise<void> {
  const { implementation } = options;
  const makes = findMakes(process.env, driverFlags).filter(
    ({ implementation: { name } }) => implementation === undefined || name === implementation,
  );
  await using stack = new AsyncDisposableStack();
  const cluster = await openBenchCluster({ name: choice.name, env: process.env, signal: onInterrupt() }, stack);
  const values = new Map<string, number[]>();
  const record: Recorder = (make, id, value) => {
    const key = `${make} ${id}`;
    values.set(key, [...(values.get(key) ?? []), value]);
  };
  const watches = new Map<MakeName, readonly string[]>();
  const measure = async (
    make: Make,
    what: string,
    part: (bed: TestBed, sidecars: readonly Sidecar[]) => Promise<void>,
  ): Promise<void> => {
    const startMs = cluster.clock.monotonicMs();
    await using bed = await openTestBed(cluster, `${what}-${make.name}`, {
      implementation: make.implementation,
      subject: make.terms,
    });
    await prepare(bed);
    const sidecars = await Promise.all(make.terms.programs.map(({ name }) => bed.startSidecar({ program: name })));
    // Finished work proves that all caches are filled.
    for (const work of works) await perform(bed, work, { what: 'first', count: 1 });
    await part(bed, sidecars);
    for (const { process } of sidecars) await process.stop();
    await clear(bed);
    process.stderr.write(`${what} ${make.name}: ${((cluster.clock.monotonicMs() - startMs) / 1000).toFixed(1)} s\n`);
  };

  for (let round = 1; round <= options.rounds && options.only.includes('work'); round += 1) {
    for (const make of makes) {
      await measure(make, `work-${round}`, async (bed, sidecars) => {
        await idle(cluster, options);
        record(make.name, 'cpuStart', sum(sidecars, cpuSeconds));
        recordMemory(record, { name: make.name, sidecars }, 'Idle');
        watches.set(make.name, openWatches(bed));
        record(make.name, 'watches', openWatches(bed).length);
        const before = sum(sidecars, cpuSeconds);
        for (const work of works)
          record(make.name, work.rate, await perform(bed, work, { what: 'many', count: options.load }));
        record(make.name, 'cpuWork', ((sum(sidecars, cpuSeconds) - before) / options.load) * 1000);
      });
    }
  }
  if (options.only.includes('foreign')) {
    await cluster.controlPlane.components.get('kube-controller-manager')?.stop();
    const kinds = ['PersistentVolume', 'PersistentVolumeClaim', 'VolumeAttachment'] as const;
    await createForeignObjects(cluster, { kinds, count: options.foreign });
    for (const make of makes) {
      await measure(make, 'foreign', async (_, sidecars) => {
        await idle(cluster, options);
        recordMemory(record, { name: make.name, sidecars }, 'Foreign');
        record(
          make.name,
          'peakForeign',
          sum(sidecars, (pid) => memoryOf(pid).peakMib),
        );
      });
    }
  }
  const markdown = toMarkdown({ cluster, makes, options, values, watches });
  process.stdout.write(`${markdown}\n`);
  if (options.writesPage) rewriteSection(choice.name, markdown);
}

async function idle({ clock, patience }: BenchCluster, { settleMs }: Options): Promise<void> {
  await clock.sleep(settleMs, patience.signal);
}

function sum(sidecars: readonly Sidecar[], of: (pid: number) => number): number {
  return sidecars.reduce((total, { process: { pid } }) => total + of(pid), 0);
}

function recordMemory(record: Recorder, { name, sidecars }: Running, when: 'Idle' | 'Foreign'): void {
  record(
    name,
    `rss${when}`,
    sum(sidecars, (pid) => memoryOf(pid).rssMib),
  );
  record(
    name,
    `anon${when}`,
    sum(sidecars, (pid) => memoryOf(pid).anonMib),
  );
}

interface Running {
  readonly name: MakeName;
  readonly sidecars: readonly Sidecar[];
}

/** Every watch that was opened: none of these runs lasts as long as one of them. */
function openWatches(bed: TestBed): readonly string[] {
  return bed
    .requests()
    .filter(({ verb, resource }) => verb === 'watch' && resource !== 'leases')
    .map((request) => rightOf(request).replace(/^watch /, ''))
    .toSorted();
}

interface Results {
  readonly cluster: BenchCluster;
  readonly makes: readonly Make[];
  readonly options: Options;
  readonly values: ReadonlyMap<string, readonly number[]>;
  readonly watches: ReadonlyMap<MakeName, readonly string[]>;
}

function toMarkdown({ cluster, makes, options, values, watches }: Results): string {
  const machine = cpus();
  const names = makes.map(({ name }) => name);
  const others = names.filter((name) => name !== 'combined');
  const rows = (Object.keys(measures) as MeasureId[]).flatMap((id) => {
    const found = names.map((name) => values.get(`${name} ${id}`));
    if (found.every((each) => each === undefined)) return [];
    const medians = found.map((each) => (each === undefined ? undefined : median(each)));
    const ratios = medians.slice(1).map((other) => ratio(medians[0], other));
    return [[measures[id].title, ...medians.map((value) => show(value, measures[id])), ...ratios]];
  });
  const kinds = [...new Set([...watches.values()].flat())].toSorted();
  const counted = kinds.map((kind) => [
    kind,
    ...names.map((name) => String(watches.get(name)?.filter((each) => each === kind).length ?? 0)),
  ]);
  return [
    `csi-sidecars with attacher, provisioner, resizer, snapshotter and livenessprobe (combined), beside our own five programs (separate) and upstream's; Kubernetes ${cluster.kubernetes}; Node.js ${process.version}; machine ${machine.length} cores (${machine[0]?.model.trim() ?? process.arch}). Medians of ${options.rounds} rounds; ${options.load} ${choice.load.title}, ${options.foreign} foreign objects of each kind.`,
    table(['', ...names, ...others.map((name) => `combined / ${name}`)], rows),
    ...(counted.length === 0 ? [] : [table(['watches', ...names], counted)]),
  ].join('\n\n');
}

function ratio(one: number | undefined, other: number | undefined): string {
  return one === undefined || other === undefined || other === 0 ? '' : (one / other).toFixed(2);
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  const rule = line(head.map((_, column) => (column === 0 ? '---' : '---:')));
  return [line(head), rule, ...rows.map(line)].join('\n');
}
