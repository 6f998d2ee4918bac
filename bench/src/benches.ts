// SPDX-License-Identifier: Apache-2.0
/** The benches that compare programs: what each one runs, its load, and its numbers with their units, in the order of the page and of the plot. */
import type { Bench } from './side-by-side/bench.ts';
import { quantile, type Measure, type Measures, type Scale } from './side-by-side/measures.ts';
import type { BenchProgram, ProgramTerms } from './side-by-side/implementations.ts';

const scale = (unit: string, digits: number): Scale => ({ unit, digits });
const seconds = scale('s', 1);
const ms = scale('ms', 0);
const mib = scale('MiB', 0);
const percent = scale('%', 0);
const perSecond = scale('/s', 0);
const requests = scale('', 2);
const count = scale('', 0);
const cpu = scale('s', 2);

type Row = readonly [id: string, title: string, scale: Omit<Measure, 'title'>];
const rows = (...all: readonly Row[]): Measures =>
  Object.fromEntries(all.map(([id, title, scale]) => [id, { title, ...scale }]));
const memory = (as: string, when: string): readonly Row[] => [
  [`rss${as}`, `RSS, ${when}`, mib],
  [`anon${as}`, `anonymous memory, ${when}`, mib],
];
const idle = memory('Idle', 'idle after start');
const beside = memory('Foreign', 'idle beside foreign objects');
const cpuStart: Row = ['cpuStart', 'CPU time of a start until idle', cpu];
const takeOver = (what: string): readonly Row[] => [
  ['takeOverTerm', `take-over: leader gone by SIGTERM to ${what}`, seconds],
  ['takeOverKill', `take-over: leader gone by SIGKILL to ${what}`, seconds],
];
const start = (call: string): readonly Row[] => [
  ['startLease', 'process start to the first request for the lease', ms],
  ['startCall', `process start to the first ${call}`, ms],
];
/** The same rows for each of these, one after the other or in turns. */
const of = (name: string, all: readonly Row[]): readonly Row[] =>
  all.map(([id, title, how]) => [`${name} ${id}`, `${name}: ${title}`, how]);
const inTurns = (names: readonly string[], all: readonly Row[]): readonly Row[] =>
  all.flatMap((row) => names.flatMap((name) => of(name, [row])));

const requestsPer = (...units: readonly string[]): Readonly<Record<string, Scale>> =>
  Object.fromEntries(units.map((unit) => [`requests per ${unit}`, requests]));
const program = (name: BenchProgram, more: Partial<ProgramTerms> = {}): readonly ProgramTerms[] => [
  { name, workersFlag: '--worker-threads', ...more },
];
const waiting: readonly Row[] = [
  ['volumesRate', 'volumes created per second', perSecond],
  ['boundTime', 'start to the last claim Bound', seconds],
  ['requestsCreated', 'API requests per volume', requests],
  ['cpuCreated', 'CPU time per 1,000 volumes, start included', cpu],
];
const afterwards = (name: string): readonly Row[] =>
  memory(` ${name}`, 'idle afterwards').map(([id, title, how]) => [id, `${name}: ${title}`, how]);
const latency = (id: string, title: string): readonly Row[] => [
  [`${id}P50`, `30 claims/s: ${title}, p50`, ms],
  [`${id}P99`, `30 claims/s: ${title}, p99`, ms],
];
const freed: Row = ['freeTime', 'last claim Bound to the source without finalizer, or gone', seconds];
const ofAll =
  (q: number): NonNullable<Measure['summary']> =>
  (values) =>
    quantile(values, q);
/** The steps of a life, with the programs that work in it and those that only watch. */
const life: readonly (readonly [unit: string, working: readonly BenchProgram[], watching: readonly BenchProgram[]])[] =
  [
    ['bind', ['csi-provisioner'], ['csi-attacher', 'csi-resizer', 'snapshot-controller']],
    ['attach', ['csi-attacher'], []],
    ['resize', ['csi-resizer'], ['csi-provisioner', 'snapshot-controller']],
    ['snapshot', ['csi-snapshotter', 'snapshot-controller'], []],
    ['delete snapshot', ['csi-snapshotter', 'snapshot-controller'], []],
    ['detach', ['csi-attacher'], []],
    ['unbind', ['csi-provisioner', 'csi-attacher'], ['csi-resizer', 'snapshot-controller']],
  ];
const lifePrograms: readonly BenchProgram[] = [
  'csi-sidecars',
  'csi-provisioner',
  'csi-attacher',
  'csi-resizer',
  'csi-snapshotter',
  'snapshot-controller',
];
const snapshotPrograms = ['csi-snapshotter', 'snapshot-controller'] as const;

export const benches: Readonly<Record<string, Bench>> = {
  'all-in-one': {
    what: 'four controllers and livenessprobe in one process beside our own and upstream’s separate programs (UPSTREAM_BIN=<folder>)',
    title:
      "csi-sidecars with attacher, provisioner, resizer, snapshotter and livenessprobe (combined), beside our own five programs (separate) and upstream's",
    programs: [
      ...program('csi-attacher'),
      ...program('csi-provisioner'),
      ...program('csi-resizer', { workersFlag: '--workers' }),
      ...program('csi-snapshotter'),
    ],
    makes: ['combined', 'separate', 'upstream'],
    load: { flag: 'objects', title: 'objects of each kind at once' },
    measures: rows(
      ...memory('Idle', 'idle after one piece of work each'),
      ...beside,
      ['peakForeign', 'highest RSS, started beside foreign objects', mib],
      ['watches', 'open watches, without those on leases', count],
      cpuStart,
      ['attachRate', 'at once: attached per second', perSecond],
      ['createRate', 'at once: volumes created per second', perSecond],
      ['expandRate', 'at once: expanded per second', perSecond],
      ['snapshotRate', 'at once: snapshots ready per second', perSecond],
      ['cpuWork', 'CPU time of all this work per 1,000 objects of each kind', cpu],
    ),
    counts: { watches: count },
    foreign: ['PersistentVolume', 'PersistentVolumeClaim', 'VolumeAttachment'],
    work: () => import('./all-in-one/work.ts'),
  },
  attacher: {
    what: 'csi-attacher beside upstream’s, on a real control plane (UPSTREAM_BIN=<folder>)',
    programs: program('csi-attacher'),
    load: { flag: 'attachments', title: 'attachments at once' },
    measures: rows(
      ['attachment rate', 'attachments at once: attached per second', perSecond],
      ['detachment rate', 'all deleted at once: detached per second', perSecond],
      ['attachment busy', 'attachments at once: processors of the machine in use', percent],
      ['attachment requests', 'API requests per attachment', requests],
      ['detachment requests', 'API requests per detachment', requests],
      ['released volume requests', 'API requests per released volume', requests],
      cpuStart,
      ['attachment cpu', 'CPU time per 1,000 attachments', cpu],
      ['detachment cpu', 'CPU time per 1,000 detachments', cpu],
      ...idle,
      ...memory('After', 'idle after the attachments came and went'),
      ...beside,
      ['stormMedian', 'storm: new attachment to attached, median', scale('s', 2)],
      ['stormMost', 'storm: new attachment to attached, at most', scale('s', 2)],
      ['stormDrained', 'storm: first detachment asked for to the last done', seconds],
      ['stormInFlight', 'storm: calls to the driver at the same time, at most', count],
      ...takeOver('a new attachment'),
      ...start('ControllerPublishVolume'),
    ),
    counts: requestsPer('attachment', 'detachment', 'released volume'),
    foreign: ['PersistentVolume', 'PersistentVolumeClaim', 'VolumeAttachment'],
    work: () => import('./attacher/work.ts'),
  },
  capacity: {
    what: 'csi-provisioner beside upstream’s, publishing capacity (UPSTREAM_BIN=<folder>)',
    programs: program('csi-provisioner'),
    load: { flag: 'items', title: 'items: ten classes in a tenth as many segments' },
    measures: rows(
      ['publishTime', 'start to the last object', seconds],
      ['publishCpu', 'CPU time until then, start included', cpu],
      ['restRequests', 'API requests per minute at rest, lease included', count],
      ['restCalls', 'GetCapacity calls per minute at rest, polls every 10 s', count],
      ['restCpu', 'CPU time per minute at rest', cpu],
      ['rss', 'RSS at rest', mib],
      ['anon', 'anonymous memory at rest', mib],
      [
        'changeCalls',
        'GetCapacity calls after a label of each node and each class that says nothing about capacity',
        count,
      ],
      ['changeRequests', 'API requests after them', count],
      ...beside,
    ),
    counts: requestsPer('object'),
    foreign: ['PersistentVolume', 'PersistentVolumeClaim'],
    work: () => import('./capacity/work.ts'),
  },
  provisioner: {
    what: 'csi-provisioner beside upstream’s, on a real control plane (UPSTREAM_BIN=<folder>, CSI_DRIVER_BIN=<file>)',
    programs: program('csi-provisioner'),
    load: { flag: 'claims', title: 'waiting claims' },
    measures: rows(
      ['volumesRate', 'waiting claims: volumes created per second', perSecond],
      ['volumesTime', 'waiting claims: start to the last volume', seconds],
      ['boundTime', 'waiting claims: start to the last claim Bound', seconds],
      ['boundRate', 'waiting claims: claims Bound per second', perSecond],
      ['deletedTime', 'deletion: first claim deleted to the last volume gone', seconds],
      ['requestsCreated', 'API requests per created volume', requests],
      ['requestsDeleted', 'API requests per deleted volume', requests],
      ['requestsSteady', 'leases, lists and watches of such a run', count],
      cpuStart,
      ['cpuCreated', 'CPU time per 1,000 creations, start included', cpu],
      ['cpuDeleted', 'CPU time per 1,000 deletions', cpu],
      ...idle,
      ...memory('After', 'idle after the volumes came and went'),
      ...beside,
      ['streamBusy', '30 claims/s: processors of the machine in use', percent],
      ...latency('own', 'claim handed to the driver to volume'),
      ...latency('volume', 'accepted claim to volume'),
      ...latency('bound', 'accepted claim to Bound'),
      ...takeOver('a new claim Bound'),
      ...start('CreateVolume'),
    ),
    counts: requestsPer('created volume', 'deleted volume'),
    foreign: ['PersistentVolume', 'PersistentVolumeClaim', 'VolumeAttachment'],
    work: () => import('./provisioner/work.ts'),
  },
  resizer: {
    what: 'csi-resizer beside upstream’s, on a real control plane (UPSTREAM_BIN=<folder>)',
    programs: program('csi-resizer', { workersFlag: '--workers' }),
    load: { flag: 'claims', title: 'claims at once' },
    measures: rows(
      ['expansion rate', 'claims at once: expanded per second', perSecond],
      ['modification rate', 'claims at once: modified per second', perSecond],
      ['expansion busy', 'expansions at once: processors of the machine in use', percent],
      ['expansion requests', 'API requests per expansion', requests],
      ['expansion conflicts', 'conflicts per expansion', requests],
      ['modification requests', 'API requests per modification', requests],
      ['modification conflicts', 'conflicts per modification', requests],
      cpuStart,
      ['expansion cpu', 'CPU time per 1,000 expansions', cpu],
      ['modification cpu', 'CPU time per 1,000 modifications', cpu],
      ...idle,
      ...memory('After', 'idle after the expansions and modifications'),
      ...beside,
      ...takeOver('a new expansion'),
      ...start('ControllerExpandVolume'),
    ),
    counts: requestsPer('expansion', 'modification'),
    foreign: ['PersistentVolume', 'PersistentVolumeClaim', 'Pod'],
    work: () => import('./resizer/work.ts'),
  },
  snapshots: {
    what: 'csi-snapshotter and snapshot-controller beside upstream’s, on a real control plane (UPSTREAM_BIN=<folder>)',
    programs: snapshotPrograms.flatMap((name) => program(name)),
    load: { flag: 'snapshots', title: 'snapshots at once' },
    measures: rows(
      ['snapshot rate', 'snapshots at once: ready per second', perSecond],
      ['deleted snapshot rate', 'all deleted at once: gone per second', perSecond],
      ['snapshot busy', 'snapshots at once: processors of the machine in use', percent],
      // Quantiles of the latencies of all rounds together.
      ['readyP50', '1 snapshot/s: accepted snapshot to ready, p50', { ...ms, summary: ofAll(0.5) }],
      ['readyP99', '1 snapshot/s: accepted snapshot to ready, p99', { ...ms, summary: ofAll(0.99) }],
      ['streamBusy', '1 snapshot/s: processors of the machine in use', percent],
      // Both programs work together; what one of them costs is a measure of its own.
      ...inTurns(snapshotPrograms, [
        ['snapshot requests', 'API requests per snapshot', requests],
        ['deleted snapshot requests', 'API requests per deleted snapshot', requests],
        cpuStart,
        ['snapshot cpu', 'CPU time per 1,000 snapshots', cpu],
        ['deleted snapshot cpu', 'CPU time per 1,000 deletions', cpu],
        ...idle,
        ...memory('After', 'idle after the snapshots came and went'),
        ...beside,
        ['peakForeign', 'highest RSS, started beside foreign objects', mib],
      ]),
    ),
    counts: requestsPer(
      ...['snapshot', 'deleted snapshot'].flatMap((unit) => snapshotPrograms.map((name) => `${unit}, ${name}`)),
    ),
    foreign: ['PersistentVolume', 'PersistentVolumeClaim'],
    work: () => import('./snapshots/work.ts'),
  },
  sources: {
    what: 'csi-provisioner beside upstream’s, with volumes from a snapshot and from a claim (UPSTREAM_BIN=<folder>)',
    programs: program('csi-provisioner'),
    load: { flag: 'copies', title: 'volumes from one source' },
    measures: rows(
      ...['restore', 'clone'].flatMap((copy) => [...of(copy, [...waiting, freed]), ...afterwards(copy)]),
      ...beside,
    ),
    counts: requestsPer('restore', 'clone'),
    // Its claims are made with its snapshots, so that each names one.
    foreign: ['PersistentVolume'],
    work: () => import('./sources/work.ts'),
  },
  'whole-life': {
    what: 'whole lives of volumes with all programs at once, ours combined and separate beside upstream’s (UPSTREAM_BIN=<folder>)',
    title:
      "All programs at once: csi-sidecars and snapshot-controller (combined), our own five programs (separate), and upstream's",
    programs: [
      ...program('csi-provisioner'),
      ...program('csi-attacher'),
      ...program('csi-resizer', { workersFlag: '--workers' }),
      ...program('csi-snapshotter'),
      ...program('snapshot-controller'),
    ],
    makes: ['combined', 'separate', 'upstream', 'bare'],
    load: { flag: 'volumes', title: 'volumes at once' },
    measures: rows(
      ['bind created rate', 'bind: volumes created per second', perSecond],
      ...life.map(([unit]): Row => [`${unit} rate`, `${unit}: done per second`, perSecond]),
      ...life.flatMap(([unit, working, watching]): readonly Row[] => [
        [`all ${unit} cpu`, `${unit}: CPU time per 1,000, all programs`, cpu],
        ...working.map((name): Row => [`${name} ${unit} cpu`, `${unit}: CPU time per 1,000, ${name}`, cpu]),
        ...watching.map((name): Row => [
          `${name} ${unit} cpu`,
          `${unit}: CPU time per 1,000, ${name}, which only watches`,
          cpu,
        ]),
      ]),
      ['life cpu', 'CPU time per 1,000 whole lives, all programs', cpu],
      ...life.map(([unit]): Row => [`all ${unit} requests`, `${unit}: API requests`, requests]),
      ['life requests', 'API requests per whole life', requests],
      ...['all', ...lifePrograms].flatMap((name): readonly Row[] => [
        [`${name} start cpu`, `${name}: CPU time of a start and one life, until idle`, cpu],
        [`${name} rss idle`, `${name}: RSS then`, mib],
        [`${name} rss after`, `${name}: RSS after the work`, mib],
        [`${name} rss minute`, `${name}: RSS a minute after the work`, mib],
      ]),
    ),
    counts: requestsPer('whole life'),
    work: () => import('./whole-life/work.ts'),
  },
  topology: {
    what: 'csi-provisioner beside upstream’s, with topology and as many nodes as claims (UPSTREAM_BIN=<folder>)',
    programs: program('csi-provisioner', { flags: ['--feature-gates=Topology=true'] }),
    load: { flag: 'claims', title: 'claims, and nodes' },
    measures: rows(...['selected node', 'any node'].flatMap((where) => [...of(where, waiting), ...afterwards(where)])),
    counts: requestsPer('volume, selected node', 'volume, any node'),
    work: () => import('./topology/work.ts'),
  },
};
