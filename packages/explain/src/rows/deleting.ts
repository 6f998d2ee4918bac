// SPDX-License-Identifier: Apache-2.0
/** Rows X70, X86 and X87: an object that is being deleted waits for its finalizers, one after the other. */
import { type KubeObject, namespaces } from '@csi-sidecars/runtime';
import { inOrder, type KnownFinalizer } from '../facts/finalizers.ts';
import { isBeingDeleted, nameOf, objectName } from '../facts/objects.ts';
import type { Since, Verdict } from '../verdict.ts';
import { byItself, change, type Context, getYaml, sinceDeleted, verdictOf } from './context.ts';

export interface Deleted<T extends KubeObject> {
  readonly object: T;
  readonly kind: string;
  readonly finalizers: readonly KnownFinalizer[];
  readonly since: Since | undefined;
}

export function deletedOf<T extends KubeObject>(kind: string, object: T): Deleted<T> {
  return {
    object,
    kind,
    finalizers: inOrder(object.metadata?.finalizers ?? []),
    since: sinceDeleted(object),
  };
}

/** The rows that all kinds share; undefined: the first finalizer is of the kind itself. */
export function shared({ object, kind, finalizers, since }: Deleted<KubeObject>): Verdict | undefined {
  const [first] = finalizers;
  const { namespace } = object.metadata ?? {};
  const next = getYaml(kind.toLowerCase(), nameOf(object), namespace);
  if (first === undefined) {
    return verdictOf(
      ['X70', 3, 'kube-controller-manager', 'forget'],
      'no finalizer is left: the API server removes the object',
      { since, next, retry: byItself('it goes by itself') },
    );
  }
  if (first.kind === 'garbage') {
    return verdictOf(
      ['X86', 3, 'kube-controller-manager', 'forget'],
      `the garbage collector works on what depends on the object (${first.name})`,
      { since, next, retry: byItself('the garbage collector goes on by itself') },
    );
  }
  if (first.kind === 'foreign') {
    return verdictOf(
      ['X87', 4, 'other', 'forget'],
      `finalizer ${first.name} is neither of Kubernetes nor of CSI: its owner has to take it off (guess: ${first.guess})`,
      {
        since,
        next,
        thenActor: 'administrator',
        changes: [change('what the owner of the finalizer waits for', objectName(kind, object), 'metadata.finalizers')],
        retry: { will: 'unknown', because: 'the owner is not known' },
        findings: ['stuck-3'],
      },
    );
  }
  return undefined;
}

/** All finalizers are named where there are several, and the namespace that waits. */
export async function whole({ reader }: Context, deleted: Deleted<KubeObject>, verdict: Verdict): Promise<Verdict> {
  const { finalizers, object } = deleted;
  const all = finalizers.map(
    ({ name, owner, guess }) => `${name} (${guess === undefined ? owner : `guess: ${guess}`})`,
  );
  const rest = finalizers.length < 2 ? '' : `; finalizers: ${all.join(', ')}`;
  const namespace = object.metadata?.namespace;
  const read =
    namespace === undefined
      ? undefined
      : await reader.get(namespaces, { name: namespace }, `whether namespace ${namespace} is being deleted`);
  const waits =
    read?.kind === 'found' && isBeingDeleted(read.value)
      ? `; namespace ${namespace} is being deleted and waits for it`
      : '';
  return { ...verdict, sentence: `${verdict.sentence}${rest}${waits}` };
}
