// SPDX-License-Identifier: Apache-2.0
/** The command line of `npm run e2e --`. */
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { controlPlaneNames, type ControlPlaneName } from '../control-planes/start-control-plane.ts';
import { Refusal } from '../refusal.ts';
import { type KubernetesRelease, kubernetesReleases } from '../tools/catalogue.ts';
import type { RbacProfile } from '../rbac/profiles.ts';
import type { Environment } from '../tools/locate.ts';

export interface RunnerOptions {
  readonly controlPlane: ControlPlaneName;
  /** What control plane `local` is made of. */
  readonly kubernetes: KubernetesRelease;
  /** Ids; absent means all. */
  readonly only: readonly string[] | undefined;
  readonly rbac: RbacProfile;
  /** `upstream`: those in the folder that `UPSTREAM_BIN` names. */
  readonly programs: 'ours' | 'upstream';
  readonly concurrency: number;
  /** Needs whose absence is a failure, not a reason to skip a scenario. */
  readonly require: readonly string[];
  /** The seed of all random decisions; by default a new one. */
  readonly seed: number | undefined;
  /** Scenarios that count in hundreds do so, or with a tenth. */
  readonly load: 'full' | 'tenth';
  readonly list: boolean;
  readonly systemChanges: 'refused' | 'allowed';
}

/** Scenarios mostly wait; pods of a real kubelet have the cores for themselves longer. One API server has its limits. */
export function usualConcurrency(controlPlane: ControlPlaneName, cores: number = availableParallelism()): number {
  return controlPlane === 'node' || controlPlane === 'kind' ? 3 : Math.min(3 * cores, 12);
}

const origins = ['ours', 'upstream'] as const;
const profiles: readonly RbacProfile[] = ['stock', 'minimal'];

export const usage: string = `usage: npm run e2e -- [options]
  --control-plane=NAME   ${controlPlaneNames.join(', ')} (default ${controlPlaneNames[0]})
  --kubernetes=RELEASE   ${kubernetesReleases.join(', ')}, with --control-plane=local (default current)
  --only=P-01,P-02       these scenarios; a prefix such as P- stands for all that begin with it
  --rbac=PROFILE         ${profiles.join(' or ')} (default stock)
  --programs=WHOSE       ${origins.join(' or ')} (default ours, or upstream when UPSTREAM_BIN is set)
  --concurrency=N        scenarios side by side (default three for each core, at most 12; three where a kubelet runs)
  --require=need,need    a missing need is a failure instead of "not applicable"
  --only=API             the API contract alone
  --seed=N               repeats what an earlier run left to chance (default E2E_SEED, or a new one)
  --full                 where a scenario counts in hundreds: all of them instead of a tenth; and scenarios that take minutes
  --allow-system-changes with --control-plane=node outside of CI: a kubelet may run here
  --list                 say what there is and end
`;

export function parseOptions(args: readonly string[], env: Environment): RunnerOptions {
  const { values } = parseArgs({
    args: [...args],
    options: {
      'allow-system-changes': { type: 'boolean', default: false },
      'control-plane': { type: 'string', default: controlPlaneNames[0] },
      kubernetes: { type: 'string', default: 'current' },
      only: { type: 'string' },
      rbac: { type: 'string', default: 'stock' },
      programs: { type: 'string', default: hasUpstream(env) ? 'upstream' : 'ours' },
      concurrency: { type: 'string' },
      require: { type: 'string' },
      seed: { type: 'string', default: env['E2E_SEED'] ?? '' },
      full: { type: 'boolean', default: false },
      list: { type: 'boolean', default: false },
    },
  });
  const seed = values.seed === '' ? undefined : Number(values.seed);
  if (seed !== undefined && !Number.isSafeInteger(seed)) throw new Error(`--seed=${values.seed}: not a whole number`);
  const controlPlane = oneOf('--control-plane', values['control-plane'], controlPlaneNames);
  const concurrency = values.concurrency === undefined ? usualConcurrency(controlPlane) : Number(values.concurrency);
  if (!Number.isInteger(concurrency) || concurrency < 1)
    throw new Error(`--concurrency=${values.concurrency}: not a count`);
  const programs = oneOf('--programs', values.programs, origins);
  if (programs === 'upstream' && controlPlane === 'sim') {
    throw new Error("upstream's programs write protobuf, which the simulated API server does not read");
  }
  if (programs === 'upstream' && !hasUpstream(env)) {
    throw new Error('--programs=upstream: UPSTREAM_BIN names no folder with them');
  }
  const kubernetes = oneOf('--kubernetes', values.kubernetes, kubernetesReleases);
  if (kubernetes !== 'current' && controlPlane !== 'local') {
    throw new Error('--kubernetes is for --control-plane=local');
  }
  return {
    kubernetes,
    controlPlane,
    only: listOf(values.only),
    rbac: oneOf('--rbac', values.rbac, profiles),
    programs,
    concurrency,
    require: listOf(values.require) ?? [],
    seed,
    load: values.full ? 'full' : 'tenth',
    list: values.list,
    systemChanges: values['allow-system-changes'] ? 'allowed' : 'refused',
  };
}

export function select<S extends { readonly id: string }>(all: readonly S[], only: readonly string[] | undefined): S[] {
  if (only === undefined) return [...all];
  const chosen = all.filter(({ id }) =>
    only.some((wanted) => (wanted.endsWith('-') ? id.startsWith(wanted) : id === wanted)),
  );
  if (chosen.length === 0) throw new Refusal(`--only=${only.join(',')}: no such scenario`);
  return chosen;
}

/** The name of the folder and of the file that a run leaves. */
export function reportName({
  controlPlane,
  kubernetes,
  rbac,
}: Pick<RunnerOptions, 'controlPlane' | 'kubernetes' | 'rbac'>): string {
  const release = kubernetes === 'current' ? '' : `-${kubernetes}`;
  return `e2e-${controlPlane}${release}${rbac === 'stock' ? '' : `-${rbac}`}`;
}

function hasUpstream(env: Environment): boolean {
  return (env['UPSTREAM_BIN'] ?? '') !== '';
}

function listOf(value: string | undefined): readonly string[] | undefined {
  return value?.split(',').filter((entry) => entry !== '');
}

function oneOf<T extends string>(flag: string, value: string, known: readonly T[]): T {
  const found = known.find((each) => each === value);
  if (found === undefined) throw new Error(`${flag}=${value}: not one of ${known.join(', ')}`);
  return found;
}
