// SPDX-License-Identifier: Apache-2.0
/** The groups of files that are held to a share of killed mutants: every package that ships, with all of its source. */
import { globSync } from 'node:fs';

export interface Group {
  readonly name: string;
  /** Patterns of the test files that are run, those that matter most first: files of the first pattern are never left out. */
  readonly tests: readonly string[];
  readonly files: readonly string[];
}

/** Test files of other packages that hold the code of a package, too. */
const outsideTests: Readonly<Record<string, readonly string[]>> = {
  // The codec is tested with the messages of CSI.
  grpc: ['packages/csi/src/message-codecs*.test.ts', 'packages/csi/testing/*.test.ts'],
  sidecar: ['packages/*/src/program.test.ts'],
  // The rooms of the runtime that only these packages use so far: bodies of requests, the process of a program. Its registry is compared with
  // that of prom-client.
  runtime: [
    'packages/snapshot-conversion-webhook/src/**/*.test.ts',
    'packages/sidecar/src/{process,metrics}/*.test.ts',
  ],
  // What several controllers share is tested where it is used.
  volume: ['packages/provisioner/src/topology/*.test.ts', 'packages/*/src/**/{plan,request,creating}.test.ts'],
};

const packages = [
  'provisioner',
  'attacher',
  'resizer',
  'snapshotter',
  'health-monitor',
  'snapshot-controller',
  'data-source-validator',
  'runtime',
  'sidecar',
  'all-in-one',
  'explain',
  'csi',
  'grpc',
  'volume',
  'node-driver-registrar',
  'livenessprobe',
  'snapshot-conversion-webhook',
  'snapshot-metadata',
] as const;

export const groups: readonly Group[] = packages.map((name) => ({
  name,
  tests: [`packages/${name}/**/*.test.ts`, ...(outsideTests[name] ?? [])],
  files: [`packages/${name}/src/**/*.ts`],
}));

/**
 * Without tests, generated types, files that only hand on what others export or start a program, and manifests: what these declare is in
 * generated pages, which `npm run check` compares.
 */
export function filesOf(root: string, group: Group): readonly string[] {
  return group.files
    .flatMap((pattern) => globSync(pattern, { cwd: root }))
    .filter(
      (path) =>
        !/\.test\.ts$|\/gen\/|\/(main|main-all|main-commands|main-node|index|internal|manifest)\.ts$/.test(path),
    )
    .sort();
}
