// SPDX-License-Identifier: Apache-2.0
/**
 * `npm run rbac-drift -- [csi-provisioner=v6.4.0 ...]`: compares `rbac/stock` with upstream's files of these releases, or of those that our
 * programs stand in for. Exit code 1 when upstream grants a right that our tables do not have.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { imageSet } from '@csi-sidecars/images';
import { loadAll } from 'js-yaml';
import type { ControllerName } from '../processes/program.ts';
import { subjects } from '../scenarios/sidecars.ts';
import { downloadRelease } from '../tools/go-module.ts';
import { driftOf, type RoleObject } from './drift.ts';
import type { RbacSubject } from './profiles.ts';

interface Published {
  /** The path of the Go module without the major version. */
  readonly module: string;
  readonly file: string;
}

const deploy = 'deploy/kubernetes';
type Program = ControllerName | 'csi-snapshot-metadata';
const published: Readonly<Record<Program, Published>> = {
  'csi-provisioner': { module: 'github.com/kubernetes-csi/external-provisioner', file: `${deploy}/rbac.yaml` },
  'csi-attacher': { module: 'github.com/kubernetes-csi/external-attacher', file: `${deploy}/rbac.yaml` },
  'csi-resizer': { module: 'github.com/kubernetes-csi/external-resizer', file: `${deploy}/rbac.yaml` },
  'csi-snapshotter': {
    module: 'github.com/kubernetes-csi/external-snapshotter',
    file: `${deploy}/csi-snapshotter/rbac-csi-snapshotter.yaml`,
  },
  'csi-external-health-monitor-controller': {
    module: 'github.com/kubernetes-csi/external-health-monitor',
    file: `${deploy}/external-health-monitor-controller/rbac.yaml`,
  },
  'snapshot-controller': {
    module: 'github.com/kubernetes-csi/external-snapshotter',
    file: `${deploy}/snapshot-controller/rbac-snapshot-controller.yaml`,
  },
  'volume-data-source-validator': {
    module: 'github.com/kubernetes-csi/volume-data-source-validator',
    file: `${deploy}/rbac-data-source-validator.yaml`,
  },
  'csi-snapshot-metadata': {
    module: 'github.com/kubernetes-csi/external-snapshot-metadata',
    file: 'deploy/snapshot-metadata-cluster-role.yaml',
  },
};

const usage = `usage: npm run rbac-drift -- [<program>=<release> ...]\nprograms: ${Object.keys(published).join(', ')}\n`;

function isProgram(name: string): name is Program {
  return Object.hasOwn(published, name);
}

function subjectOf(program: Program): RbacSubject {
  return program === 'csi-snapshot-metadata' ? 'external-snapshot-metadata' : subjects[program];
}

function releaseOf(program: Program): string {
  const { upstream } = imageSet.find(({ name }) => name === program) ?? {};
  if (upstream === undefined) throw new Error(`no release of upstream is known for ${program}`);
  return upstream.version;
}

/** Pairs of a program and a release; undefined when an argument is none. */
function parse(args: readonly string[]): readonly (readonly [Program, string])[] | undefined {
  if (args.length === 0) {
    return Object.keys(published)
      .filter(isProgram)
      .map((program) => [program, releaseOf(program)] as const);
  }
  const pairs = args.map((arg) => /^([a-z-]+)=(v\d+\.\d+\.\d+\S*)$/.exec(arg));
  return pairs.every((pair) => pair !== null && isProgram(pair[1]!))
    ? pairs.map((pair) => [pair![1] as Program, pair![2]!] as const)
    : undefined;
}

const read = (path: string): readonly RoleObject[] => loadAll(readFileSync(path, 'utf8')) as RoleObject[];

const wanted = parse(process.argv.slice(2));
if (wanted === undefined) {
  process.stderr.write(usage);
  process.exitCode = 2;
}
for (const [program, release] of wanted ?? []) {
  const { module, file } = published[program];
  const folder = await downloadRelease(module, release);
  const table = join(import.meta.dirname, '..', '..', 'rbac', 'stock', `${subjectOf(program)}.yaml`);
  const { added, removed } = driftOf(read(table), read(join(folder, file)));
  if (added.length > 0) process.exitCode = 1;
  const lines = [...added.map((right) => `  added    ${right}`), ...removed.map((right) => `  removed  ${right}`)];
  const summary = lines.length === 0 ? 'no difference' : `${added.length} added, ${removed.length} removed`;
  process.stdout.write(`${[`${program} ${release}: ${summary}`, ...lines].join('\n')}\n`);
}
