// SPDX-License-Identifier: Apache-2.0
/** One pass: the subject is read, judged and explained. */
import type { KubeObject } from '@csi-sidecars/runtime';
import { type Because, CredentialsError, type Reader } from '../cluster/reader.ts';
import { explanationOf } from '../report/document.ts';
import type { Explanation } from '../report/explanation.ts';
import type { Context, Options } from '../rows/context.ts';
import type { Judged } from '../rows/judged.ts';
import { absent, judge, unserved } from '../rows/subjects.ts';
import { CommandError, exitCodeOf, exits } from './exit-codes.ts';
import type { ExplainValues } from './explain-flags.ts';
import type { Cluster } from './open-cluster.ts';
import type { Subject } from './subject.ts';

export interface Asked {
  readonly cluster: Pick<Cluster, 'nowMs' | 'localOffsetMs' | 'cost'>;
  readonly subject: Subject;
  readonly values: ExplainValues;
}

/** Rejects with a CommandError if the subject cannot be read. */
export async function explainOnce(reader: Reader, { cluster, subject, values }: Asked): Promise<Explanation> {
  const { resource, namespace, name, kind } = subject;
  try {
    const read = await reader.get(resource, { namespace, name }, `${kind} ${name}`);
    if (read.kind === 'unknown' && read.because !== 'absent') throw unreadableError(read.because, subject);
    const object = read.kind === 'found' ? read.value : undefined;
    const judged = await judgedOf({ reader, options: optionsOf(values) }, subject, object ?? read.kind);
    const apiVersion = resource.group === '' ? resource.version : `${resource.group}/${resource.version}`;
    return explanationOf({
      atMs: cluster.nowMs(),
      localOffsetMs: cluster.localOffsetMs(),
      subject: { kind, apiVersion, namespace, name, object },
      judged,
      exitCode: exitCodeOf(judged.verdict.exit, values['exit-zero']),
      missing: reader.missing(),
      cost: cluster.cost(),
    });
  } catch (error) {
    if (error instanceof CredentialsError) throw new CommandError(exits.failed, error.message, { cause: error });
    throw error;
  }
}

async function judgedOf(
  context: Context,
  subject: Subject,
  found: KubeObject | 'absent' | 'found' | 'unknown',
): Promise<Judged> {
  if (typeof found === 'object') return await judge(context, subject, found);
  const verdict = found === 'absent' ? await absent(context, subject) : unserved(subject);
  return { verdict, driver: undefined, track: { stages: [] } };
}

function optionsOf(values: ExplainValues): Options {
  return {
    hasEvents: !values['no-events'],
    isDeep: values.deep,
    driverNamespace: values['driver-namespace'],
    snapshotControllerNamespace: values['snapshot-controller-namespace'],
    volumeNamePrefix: values['volume-name-prefix'],
    volumeNameUuidLength: values['volume-name-uuid-length'],
    allVolumes: values['all-volumes'],
  };
}

function unreadableError(unreadable: Because, { kind, name }: Subject): CommandError {
  const messages: Partial<Record<Because, string>> = {
    forbidden: `you may not read ${kind} ${name}`,
    timeout: 'the API server has not answered in time',
  };
  const message = messages[unreadable] ?? 'the API server cannot be reached';
  return new CommandError(exits.failed, message, { unreadable });
}
