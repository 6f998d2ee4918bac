// SPDX-License-Identifier: Apache-2.0
/** What is compared: all controllers of a driver and livenessprobe, in one process and in five. */
import { findProgram, type Environment } from '@csi-sidecars/e2e';
import type { Implementation } from '../side-by-side/implementations.ts';
import type { ProgramTerms, Terms } from '../side-by-side/test-bed.ts';

export type MakeName = 'combined' | 'separate' | 'upstream';

export interface Make {
  readonly name: MakeName;
  readonly terms: Terms;
  readonly implementation: Implementation;
}

const separate: readonly ProgramTerms[] = [
  { name: 'csi-attacher', workersFlag: '--worker-threads' },
  { name: 'csi-provisioner', workersFlag: '--worker-threads' },
  { name: 'csi-resizer', workersFlag: '--workers' },
  { name: 'csi-snapshotter', workersFlag: '--worker-threads' },
];

/** A port that no other test bed has at the time: they run one after another. */
const probePort = 39_808;

const probe: ProgramTerms = {
  name: 'livenessprobe',
  workersFlag: undefined,
  flags: [`--http-endpoint=127.0.0.1:${probePort}`],
};

const combined: ProgramTerms = {
  name: 'csi-sidecars',
  workersFlag: '--worker-threads',
  flags: [
    '--controllers=attacher,provisioner,resizer,snapshotter,livenessprobe',
    '--workers=100',
    `--livenessprobe-http-endpoint=127.0.0.1:${probePort}`,
  ],
};

/** Upstream's only if `UPSTREAM_BIN` is set. */
export function findMakes(env: Environment, driverFlags: readonly string[]): readonly Make[] {
  const { UPSTREAM_BIN: folder = '', ...own } = env;
  const make = (name: MakeName, programs: readonly ProgramTerms[], from: Environment): Make => ({
    name,
    terms: { programs, driverFlags },
    implementation: {
      // The names of folders, namespaces and drivers.
      name: name === 'upstream' ? 'upstream' : 'ours',
      version: name,
      programs: new Map(programs.map((program) => [program.name, findProgram(program.name, from)])),
    },
  });
  return [
    make('combined', [combined], own),
    make('separate', [...separate, probe], own),
    ...(folder === '' ? [] : [make('upstream', [...separate, probe], env)]),
  ];
}
