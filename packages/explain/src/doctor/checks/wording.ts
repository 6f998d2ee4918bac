// SPDX-License-Identifier: Apache-2.0
/** Words and facts that several parts use. */
import { kubectl } from '../../command/printable.ts';
import type { ObjectName } from '../../verdict.ts';
import { type Fact, factOf, textOf } from '../check.ts';
import type { Severity } from '../ids.ts';
import type { AuthorityFacts } from '../readings/facts.ts';
import { electionNamespace, elects, flagOf, type Sidecar, type WorkloadFacts } from '../readings/sidecars.ts';

export function ofDriver(driver: string | undefined): string {
  return driver === undefined ? '' : ` of ${driver}`;
}

/** `Deployment storage/controller`. */
export function calledBy({ object }: WorkloadFacts): string {
  return textOf(object);
}

/** The value of a flag as the workload gives it. */
export function flagFact(workload: WorkloadFacts, sidecar: Sidecar, flag: string): Fact {
  return factOf(textOf(workload.object), `--${flag} of container ${sidecar.container.name}`, flagOf(sidecar, flag));
}

export function imageFact(workload: WorkloadFacts, { container }: Sidecar): Fact {
  return factOf(textOf(workload.object), `image of container ${container.name}`, container.image);
}

/** `kubectl get KIND NAME -o yaml`. */
export function yamlOf({ kind, namespace, name }: ObjectName): readonly string[] | undefined {
  const place = namespace === undefined ? [] : kubectl(['-n'], [namespace])?.slice(1);
  return place === undefined ? undefined : kubectl(['get', kind.toLowerCase()], [name], [...place, '-o', 'yaml']);
}

export function describeOf({ kind, namespace, name }: ObjectName): readonly string[] | undefined {
  const place = namespace === undefined ? [] : kubectl(['-n'], [namespace])?.slice(1);
  return place === undefined ? undefined : kubectl(['describe', kind.toLowerCase()], [name], place);
}

/** `csi-sidecars explain KIND/NAME`, of the oldest object that waits. */
export function explainOf(word: string, { namespace, name }: ObjectName): readonly string[] | undefined {
  if (kubectl([], [name, namespace]) === undefined) return undefined;
  return ['csi-sidecars', 'explain', `${word}/${name}`, ...(namespace === undefined ? [] : ['-n', namespace])];
}

/** `1 object`, `3 objects`. */
export function counted(count: number, word: string): string {
  return `${count} ${word}${count === 1 ? '' : 's'}`;
}

export function timeText(ms: number | undefined): string {
  return ms === undefined ? '' : new Date(ms).toISOString().replace(/\.\d+Z$/, 'Z');
}

const soonMs = 14 * 86_400_000;

/** What is wrong with an authority, and how bad that is: `has expired at ...`, `is missing`. Undefined: it is valid for two weeks at least. */
export function authorityMistake(
  authority: AuthorityFacts,
  nowMs: number,
): { readonly state: string; readonly severity: Severity } | undefined {
  if (authority.kind !== 'valid')
    return { state: authority.kind === 'none' ? 'is missing' : 'cannot be read', severity: 'error' };
  const leftMs = authority.untilMs - nowMs;
  if (leftMs >= soonMs) return undefined;
  const until = timeText(authority.untilMs);
  return leftMs < 0
    ? { state: `has expired at ${until}`, severity: 'error' }
    : { state: `expires at ${until}`, severity: 'warn' };
}

/** Programs that elect in the same place have one leader. */
export function electionPlace({
  workload,
  sidecar,
}: {
  readonly workload: WorkloadFacts;
  readonly sidecar: Sidecar;
}): string {
  return elects(sidecar) ? `namespace ${electionNamespace(sidecar, workload)}` : 'nowhere';
}
